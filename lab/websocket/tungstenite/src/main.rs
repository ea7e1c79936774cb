// SPDX-License-Identifier: Apache-2.0

// The echo server of `troupe lab ws` on tokio-tungstenite: a task for each connection, on one thread, since
// the server has one core. forward() writes what has been echoed once nothing more is there to be read.
// Buffers of 4 KiB instead of 128: a connection keeps its own for as long as it is there. Prints its port
// and serves until it is killed.

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
    // How a connection ends is of no interest.
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
