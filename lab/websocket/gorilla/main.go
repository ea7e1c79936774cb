// SPDX-License-Identifier: Apache-2.0

// The echo server of `troupe lab ws` on gorilla/websocket: its own example, with a goroutine for
// each connection and the buffers of net/http. It prints its port and serves until it is killed.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/gorilla/websocket"
)

var upgrader = websocket.Upgrader{}

func echo(w http.ResponseWriter, r *http.Request) {
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the error response has been sent
	}
	defer connection.Close()
	for {
		kind, message, err := connection.ReadMessage()
		if err != nil {
			return
		}
		if err := connection.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("port %d\n", listener.Addr().(*net.TCPAddr).Port)
	http.HandleFunc("/", echo)
	log.Fatal(http.Serve(listener, nil))
}
