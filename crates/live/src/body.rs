//! The body of a response: text, or the stream of a transfer, limited to the rate of its client.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::payload;
use crate::transfer::{lock, Client, Transfer};
use cwndlab_fetch::clock::since_ns;

/// Maximum size of a generated chunk, bytes.
const CHUNK: u64 = 64 << 10;

/// The stream of a transfer, chunk by chunk.
pub(crate) struct TransferStream {
    transfer: Arc<Transfer>,
    at: u64,
    end: u64,
    limiter: Option<RateLimiter>,
}

/// The rate limit of a client, shared by all its transfers.
struct RateLimiter {
    client: Arc<Client>,
    rate_bps: u64,
    epoch: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl RateLimiter {
    /// Reserves the transmission time of the next chunk; returns the time until its start, ns.
    fn reserve(&self, bytes: u64) -> u64 {
        let now = since_ns(self.epoch);
        let mut free = lock(&self.client.free_ns);
        let start = (*free).max(now);
        *free = start + (u128::from(bytes) * 8_000_000_000 / u128::from(self.rate_bps.max(1))) as u64;
        start - now
    }
}

impl TransferStream {
    pub(crate) fn new(transfer: Arc<Transfer>, client: Arc<Client>, rate_bps: Option<u64>, epoch: Instant) -> Self {
        let at = transfer.request.first;
        let end = transfer.request.first + transfer.request.length;
        let limiter = rate_bps.map(|rate_bps| RateLimiter { client, rate_bps, epoch, sleep: None });
        Self { transfer, at, end, limiter }
    }

    /// The next chunk; `None` at the end.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut length = (self.end - self.at).min(CHUNK);
        if length == 0 {
            return Poll::Ready(None);
        }
        if let Some(limiter) = &mut self.limiter {
            // Smaller chunks at low rates: at least about twenty per second.
            length = length.min((limiter.rate_bps / 160).max(1448));
            if limiter.sleep.is_none() {
                let wait = limiter.reserve(length);
                limiter.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_nanos(wait))));
            }
            if let Some(sleep) = &mut limiter.sleep {
                ready!(sleep.as_mut().poll(cx));
            }
            limiter.sleep = None;
        }
        let mut chunk = vec![0; length as usize];
        payload::fill(self.at, &mut chunk);
        self.at += length;
        self.transfer.written(length);
        Poll::Ready(Some(chunk.into()))
    }

    fn left(&self) -> u64 {
        self.end - self.at
    }
}

/// The body of a response.
pub(crate) enum Content {
    /// Text.
    Text(Option<Bytes>),
    /// The stream.
    Stream(TransferStream),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let chunk = match self.get_mut() {
            Self::Text(text) => text.take(),
            Self::Stream(stream) => ready!(stream.poll_chunk(cx)),
        };
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Text(text) => text.is_none(),
            Self::Stream(stream) => stream.left() == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Text(text) => text.as_ref().map_or(0, |text| text.len() as u64),
            Self::Stream(stream) => stream.left(),
        })
    }
}
