//! Live measurement: the server, and the client that fetches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cwndlab_linux::fault::{fault, Fault};
use cwndlab_live::certificate::Certificate;
use cwndlab_live::fetch::{Ask, Fetched};
use cwndlab_live::limits::{Limits, LIMITS};
use cwndlab_live::server::Settings;
use cwndlab_live::tokens::{made, Tokens};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::raise;
use crate::work::{aside, guarded};

fn refuse(py: Python<'_>, class: &str, faults: impl IntoIterator<Item = Fault>) -> PyErr {
    raise(py, class, faults.into_iter().map(|fault| (fault.place, fault.what, fault.hint)).collect())
}

/// Fetches part of a server's stream; Ctrl-C stops it. `progress` is told how much has come, some twenty times a second,
/// and cancels by answering False.
#[pyfunction]
#[pyo3(signature = (url, *, token, algorithm, size_bytes, transport="tcp", trust=None, timeout_s=600.0, progress=None, first_byte=0))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn fetch<'py>(
    py: Python<'py>,
    url: String,
    token: String,
    algorithm: Option<String>,
    size_bytes: u64,
    transport: &str,
    trust: Option<String>,
    timeout_s: f64,
    progress: Option<Py<PyAny>>,
    first_byte: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or(Duration::MAX).min(Duration::from_secs(1 << 30));
    let transport = transport.to_owned();
    let ask = Ask { url, token, algorithm, size_bytes, first_byte, transport, trust, timeout };
    let stop: Arc<AtomicBool> = Arc::default();
    let inner = Arc::clone(&stop);
    let outcome = aside(py, &stop, move || {
        let mut raised = None;
        let mut tell = |bytes| {
            let Some(progress) = &progress else { return true };
            Python::attach(|py| match progress.call1(py, (bytes,)) {
                // Nothing said is no objection.
                Ok(answer) => answer.is_none(py) || answer.is_truthy(py).unwrap_or(true),
                Err(error) => {
                    raised = Some(error);
                    false
                }
            })
        };
        let fetched = guarded(|| cwndlab_live::fetch::fetch(&ask, &inner, &mut tell))?;
        Ok((fetched, raised))
    })?;
    match outcome {
        Ok((_, Some(error))) => Err(error),
        Ok((Ok(fetched), None)) => told(py, fetched),
        Ok((Err(fault), None)) => {
            let asked = ["url", "transport", "first_byte", "--trust"].contains(&fault.place.as_str());
            Err(refuse(py, if asked { "ScenarioError" } else { "RunError" }, [fault]))
        }
        Err(panic) => Err(refuse(py, "RunError", [fault("fetch", panic, "please report with this line")])),
    }
}

fn told(py: Python<'_>, fetched: Fetched) -> PyResult<Bound<'_, PyDict>> {
    let json = py.import("json")?;
    let dict = PyDict::new(py);
    dict.set_item("transfer", fetched.transfer)?;
    dict.set_item("algorithm", fetched.algorithm)?;
    dict.set_item("transport", fetched.transport)?;
    dict.set_item("address", fetched.address)?;
    dict.set_item("started_unix_ns", fetched.started_unix_ns)?;
    dict.set_item("lookup_ns", fetched.lookup_ns)?;
    dict.set_item("connect_ns", fetched.connect_ns)?;
    dict.set_item("handshake_ns", fetched.handshake_ns)?;
    dict.set_item("first_byte_ns", fetched.first_byte_ns)?;
    dict.set_item("last_byte_ns", fetched.last_byte_ns)?;
    dict.set_item("received_bytes", fetched.received_bytes)?;
    let arrivals: Vec<Vec<u64>> = fetched.arrivals.iter().map(|&(at, bytes)| vec![at, bytes]).collect();
    dict.set_item("arrivals", arrivals)?;
    let receiver = fetched.receiver.map(|look| json.call_method1("loads", (look.object().to_string(),))).transpose()?;
    dict.set_item("receiver", receiver)?;
    let sender = fetched.sender.map(|account| json.call_method1("loads", (account.to_string(),))).transpose()?;
    dict.set_item("sender", sender)?;
    dict.set_item("ended", fetched.ended)?;
    dict.set_item("why", fetched.why)?;
    dict.set_item("attempts", fetched.attempts)?;
    Ok(dict)
}

/// A server that runs until `stop`, or until it is no longer held.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Server {
    inner: Mutex<cwndlab_live::server::Server>,
    #[pyo3(get)]
    address: String,
    #[pyo3(get)]
    fingerprint: String,
    /// Names and tokens of those that were made here; those given are not kept.
    #[pyo3(get)]
    tokens: BTreeMap<String, String>,
    #[pyo3(get)]
    notes: Vec<String>,
}

/// Starts a server. `tokens` is the text of a file of lines `NAME TOKEN`; without it one is made. The certificate is
/// that of the PEM files, or the one kept in the folder `state`, or made for this process alone, for `names`.
#[pyfunction]
#[pyo3(signature = (listen, *, tokens=None, tokens_from="tokens", certificate=None, key=None, state=None, names=None, quic=false, limits=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn serve(
    py: Python<'_>,
    listen: String,
    tokens: Option<&str>,
    tokens_from: &str,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    state: Option<PathBuf>,
    names: Option<Vec<String>>,
    quic: bool,
    limits: Option<BTreeMap<String, f64>>,
) -> PyResult<Server> {
    let wrong = |faults: Vec<Fault>| refuse(py, "ScenarioError", faults);
    let mut allowed = Limits::default();
    let asked = limits.unwrap_or_default();
    allowed.set(asked.iter().map(|(name, value)| (name.as_str(), *value))).map_err(wrong)?;
    let mut fresh = BTreeMap::new();
    let text = if let Some(text) = tokens {
        text.to_owned()
    } else {
        let token = made().map_err(|fault| wrong(vec![fault]))?;
        let line = format!("client {token}\n");
        fresh.insert("client".to_owned(), token);
        line
    };
    let tokens = Tokens::read(&text, tokens_from).map_err(wrong)?;
    // An address that makes no sense; one that cannot be had is another fault.
    let is_address =
        listen.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if !is_address {
        let hint = "write ADDRESS:PORT, such as 127.0.0.1:8443 or [::]:8443";
        return Err(wrong(vec![fault("--listen", format!("'{listen}' is no address and port"), hint)]));
    }
    let names = names.unwrap_or_else(|| ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec());
    let certificate = match (certificate, key, state) {
        (Some(chain), Some(key), _) => Certificate::read(&chain, &key),
        (None, None, Some(folder)) => Certificate::kept(&folder, &names),
        (None, None, None) => Certificate::made(&names),
        _ => {
            Err(fault("certificate", "a certificate and its key belong together", "give both --certificate and --key"))
        }
    };
    let certificate = certificate.map_err(|fault| wrong(vec![fault]))?;
    let settings = Settings { listen, certificate, tokens, limits: allowed, quic };
    let server = py.detach(|| cwndlab_live::server::Server::start(settings));
    let server = server.map_err(|fault| refuse(py, "RunError", [fault]))?;
    Ok(Server {
        address: server.address().to_string(),
        fingerprint: server.fingerprint().to_owned(),
        tokens: fresh,
        notes: server.notes().to_vec(),
        inner: Mutex::new(server),
    })
}

/// Limits of a server: name, default (if there is one), the least it may be, what it is.
#[pyfunction]
pub(crate) fn serve_limits() -> Vec<(&'static str, Option<f64>, f64, &'static str)> {
    let usual = Limits::default();
    LIMITS.iter().map(|limit| (limit.name, (limit.get)(&usual), limit.least, limit.doc)).collect()
}

#[pymethods]
impl Server {
    /// Ends every transfer and connection.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.inner.lock().unwrap_or_else(PoisonError::into_inner).stop());
    }

    /// What happened so far: names and counts.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let server = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        server.counters().all().into_iter().collect()
    }
}
