//! The applications of both ends, as s2n-quic wants them: futures, which the adapter polls.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use s2n_quic::client::{Client, Connect};
use s2n_quic::Server;

use crate::io::RECEIVER;

/// Bytes that are written at once.
const CHUNK: usize = 1 << 16;

/// What an application and its adapter tell each other.
#[derive(Debug, Default)]
pub struct Supply {
    /// Bytes that the sender has not written; the largest number: endless.
    pub to_write: u64,
    pub is_finishing: bool,
    /// All is acknowledged.
    pub is_done: bool,
    pub delivered: u64,
}

pub type Shared = Arc<Mutex<Supply>>;

fn with<T>(shared: &Shared, act: impl FnOnce(&mut Supply) -> T) -> T {
    act(&mut crate::lock(shared))
}

/// The bytes to write next; `None` at the end.
async fn next(shared: &Shared) -> Option<usize> {
    poll_fn(|_| {
        with(shared, |supply| match supply.to_write {
            0 if supply.is_finishing => Poll::Ready(None),
            0 => Poll::Pending, // the adapter polls after each call
            left => Poll::Ready(Some(left.min(CHUNK as u64) as usize)),
        })
    })
    .await
}

/// Writes to one stream.
pub async fn send(client: Client, shared: Shared) -> Result<(), String> {
    poll_fn(|_| {
        with(&shared, |supply| if supply.to_write > 0 || supply.is_finishing { Poll::Ready(()) } else { Poll::Pending })
    })
    .await;
    let connect = Connect::new(RECEIVER).with_server_name("localhost");
    let mut connection = client.connect(connect).await.map_err(crate::text)?;
    let mut stream = connection.open_send_stream().await.map_err(crate::text)?;
    let chunk = Bytes::from(vec![0; CHUNK]);
    while let Some(size) = next(&shared).await {
        stream.send(chunk.slice(..size)).await.map_err(crate::text)?;
        with(&shared, |supply| {
            if supply.to_write < u64::MAX {
                supply.to_write -= size as u64;
            }
        });
    }
    stream.close().await.map_err(crate::text)?;
    with(&shared, |supply| supply.is_done = true);
    connection.close(0_u32.into());
    Ok(())
}

/// Reads the streams of each connection.
pub async fn receive(mut server: Server, shared: Shared) -> Result<(), String> {
    while let Some(mut connection) = server.accept().await {
        while let Ok(Some(mut stream)) = connection.accept_receive_stream().await {
            while let Ok(Some(chunk)) = stream.receive().await {
                with(&shared, |supply| supply.delivered += chunk.len() as u64);
            }
        }
    }
    Ok(())
}
