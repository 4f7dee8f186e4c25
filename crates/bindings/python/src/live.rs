//! Live measurement: the server and the client.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cwndlab_fetch::fetch::{FetchOptions, FetchResult};
use cwndlab_live::certificate::Certificate;
use cwndlab_live::limits::{Limits, LIMITS};
use cwndlab_live::server::Settings;
use cwndlab_live::tokens::{generate, Tokens};
use cwndlab_live::Classes;
use cwndlab_python_classes::class_entry::{bound_entry, Class};
use cwndlab_python_classes::controller::describe_failure;
use cwndlab_units::Fault;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{fault_error, guarded};
use crate::work::run_in_thread;

/// Fetches part of a server's stream; Ctrl-C stops it. `progress` is called about twenty times per second with the
/// number of bytes received, and cancels the fetch by returning False.
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
    let options = FetchOptions { url, token, algorithm, size_bytes, first_byte, transport, trust, timeout };
    let stop: Arc<AtomicBool> = Arc::default();
    let inner = Arc::clone(&stop);
    let outcome = run_in_thread(py, &stop, move || {
        let mut raised = None;
        let mut on_progress = |bytes| {
            let Some(progress) = &progress else { return true };
            Python::attach(|py| match progress.call1(py, (bytes,)) {
                // None continues.
                Ok(result) => result.is_none(py) || result.is_truthy(py).unwrap_or(true),
                Err(error) => {
                    raised = Some(error);
                    false
                }
            })
        };
        let result = guarded(|| cwndlab_fetch::fetch::fetch(&options, &inner, &mut on_progress))?;
        Ok((result, raised))
    })?;
    match outcome {
        Ok((_, Some(error))) => Err(error),
        Ok((Ok(result), None)) => result_dict(py, &result),
        Ok((Err(fault), None)) => {
            let is_argument = ["url", "transport", "first_byte", "--trust"].contains(&fault.place.as_str());
            Err(fault_error(py, if is_argument { "ScenarioError" } else { "RunError" }, [fault]))
        }
        Err(panic) => Err(fault_error(py, "RunError", [panic.at("fetch")])),
    }
}

/// Converts the result to a dictionary.
fn result_dict<'py>(py: Python<'py>, result: &FetchResult) -> PyResult<Bound<'py, PyDict>> {
    let result = py.import("json")?.call_method1("loads", (result.json().to_string(),))?;
    Ok(result.cast_into()?)
}

/// A server that runs until `stop` or until it is garbage-collected.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Server {
    inner: Mutex<cwndlab_live::server::Server>,
    #[pyo3(get)]
    address: String,
    #[pyo3(get)]
    fingerprint: String,
    /// Names and tokens that were generated here. Tokens given by the caller are not stored.
    #[pyo3(get)]
    tokens: BTreeMap<String, String>,
    #[pyo3(get)]
    notes: Vec<String>,
}

/// Starts a server. `tokens` is the text of a file with lines `NAME TOKEN`; without it a token is generated. The
/// certificate is read from PEM files, or stored in the folder `state`, or generated for `names` and used by this
/// process only. `classes` are classes in Python, which are offered over QUIC: name of the algorithm, name of the class,
/// source file, parameters (JSON), constructor.
#[pyfunction]
#[pyo3(signature = (listen, *, tokens=None, tokens_from="tokens", certificate=None, key=None, state=None, names=None, quic=false, limits=None, classes=Vec::new()))]
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
    classes: Vec<Class>,
) -> PyResult<Server> {
    let scenario_error = |faults: Vec<Fault>| fault_error(py, "ScenarioError", faults);
    let mut server_limits = Limits::default();
    let limits = limits.unwrap_or_default();
    server_limits.set(limits.iter().map(|(name, value)| (name.as_str(), *value))).map_err(scenario_error)?;
    let mut generated = BTreeMap::new();
    let text = if let Some(text) = tokens {
        text.to_owned()
    } else {
        let token = generate().map_err(|fault| scenario_error(vec![fault]))?;
        let line = format!("client {token}\n");
        generated.insert("client".to_owned(), token);
        line
    };
    let tokens = Tokens::parse(&text, tokens_from).map_err(scenario_error)?;
    // A malformed address is an invalid argument; an address that cannot be bound is a failure of the run.
    let is_address =
        listen.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if !is_address {
        let hint = "write ADDRESS:PORT, such as 127.0.0.1:8443 or [::]:8443";
        let what = format!("'{listen}' is not an address and a port");
        return Err(scenario_error(vec![Fault::new("--listen", what, hint)]));
    }
    let names = names.unwrap_or_else(|| ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec());
    let certificate = certificate_of(certificate, key, state, &names).map_err(|fault| scenario_error(vec![fault]))?;
    let quic = over_quic(quic, classes).map_err(|fault| scenario_error(vec![fault]))?;
    let settings = Settings { listen, certificate, tokens, limits: server_limits, quic };
    let server = py.detach(|| cwndlab_live::server::Server::start(settings));
    let server = server.map_err(|fault| fault_error(py, "RunError", [fault]))?;
    Ok(Server {
        address: server.address().to_string(),
        fingerprint: server.fingerprint().to_owned(),
        tokens: generated,
        notes: server.notes().to_vec(),
        inner: Mutex::new(server),
    })
}

/// The classes to serve over QUIC; `None` without it.
fn over_quic(quic: bool, classes: Vec<Class>) -> Result<Option<Classes>, Fault> {
    if !quic && !classes.is_empty() {
        let hint = "add --quic; for TCP, register them by `cwndlab kernel run --algorithm-file`";
        return Err(Fault::new("--algorithm-file", "classes are served over QUIC", hint));
    }
    let specs = classes.into_iter().map(bound_entry).collect::<Result<_, _>>()?;
    Ok(quic.then_some(Classes { specs, describe: Some(describe_failure) }))
}

/// The certificate of the PEM files, or the one stored in the folder, or a new one for `names`.
fn certificate_of(
    chain: Option<PathBuf>,
    key: Option<PathBuf>,
    folder: Option<PathBuf>,
    names: &[String],
) -> Result<Certificate, Fault> {
    match (chain, key, folder) {
        (Some(chain), Some(key), _) => Certificate::read(&chain, &key),
        (None, None, Some(folder)) => Certificate::load_or_create(&folder, names),
        (None, None, None) => Certificate::self_signed(names),
        _ => Err(Fault::new(
            "certificate",
            "a certificate needs its key, and a key its certificate",
            "give both --certificate and --key",
        )),
    }
}

/// Limits of a server: name, default (`None`: unlimited), minimum value, description.
#[pyfunction]
pub(crate) fn serve_limits() -> Vec<(&'static str, Option<f64>, f64, &'static str)> {
    let default = Limits::default();
    LIMITS.iter().map(|limit| (limit.name, (limit.get)(&default), limit.min, limit.doc)).collect()
}

impl Server {
    /// Waits for the server without the interpreter's lock, which classes in connections may need while it stops.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut cwndlab_live::server::Server) -> T + Send) -> T {
        py.detach(|| work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Server {
    /// Ends all transfers and connections.
    fn stop(&self, py: Python<'_>) {
        self.with(py, cwndlab_live::server::Server::stop);
    }

    /// The failures of classes since the last call, each with its traceback.
    fn take_failures(&self, py: Python<'_>) -> Vec<String> {
        self.with(py, |server| server.take_failures())
    }

    /// Names and values of the counters.
    fn counters(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        self.with(py, |server| server.counters().all().into_iter().collect())
    }
}
