// SPDX-License-Identifier: Apache-2.0

// The echo server of `troupe lab ws` on tokio-tungstenite: a task for each connection, on one
// thread, because the server has one core. forward() writes the echoed messages when no more data
// can be read. Buffers have 4 KiB instead of 128, because each connection keeps its own. The
// program prints its port and serves until it is killed.

use futures_util::{future, StreamExt, TryStreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

const BUFFER_BYTES: usize = 4 * 1024;

async fn echo(stream: TcpStream) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES);
    let Ok(socket) = tokio_tungstenite::accept_async_with_config(stream, Some(config)).await else {
        return;
    };
    let (out, messages) = socket.split();
    // The reason for the end of a connection does not matter.
    let _ = messages
        .try_filter(|m| future::ready(m.is_text() || m.is_binary()))
        .forward(out)
        .await;
}

async fn serve() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("port {}", listener.local_addr()?.port());
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(echo(stream));
    }
}

fn main() -> std::io::Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?
        .block_on(serve())
}
