//! The parts that all files of the binding share: exceptions, work without the interpreter lock,
//! and the classes that show values of the engine to Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use flashpager::{Error, ProgressFn, Result};
use pyo3::call::PyCallArgs;
use pyo3::create_exception;
use pyo3::exceptions::{PyBrokenPipeError, PyException, PyKeyboardInterrupt};
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3::{type_hint_identifier, type_hint_subscript};
use pythonize::pythonize;

create_exception!(
    flashpager._engine,
    FlashpagerError,
    PyException,
    "An error of the engine: what is wrong, where, and what to do."
);
create_exception!(
    flashpager._engine,
    DiskFullError,
    FlashpagerError,
    "An error of the engine: no space is left for a file."
);

/// An error of the engine as Python's exception.
pub fn raise(error: Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe => {
            PyBrokenPipeError::new_err(())
        }
        full if full.is_disk_full() => DiskFullError::new_err(full.to_string()),
        other => FlashpagerError::new_err(other.to_string()),
    }
}

/// A hash of the `Debug` text of a value: equal values have equal hashes, 0.0 and -0.0 among them.
/// The engine has that text compiled, so that the classes need no further code.
pub fn hash(value: &dyn std::fmt::Debug) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    format!("{value:?}").replace("-0.0,", "0.0,").replace("-0.0 ", "0.0 ").hash(&mut hasher);
    hasher.finish()
}

/// An argument that cannot be converted, as Python's exception.
pub fn bad_argument(error: pythonize::PythonizeError) -> PyErr {
    FlashpagerError::new_err(error.to_string())
}

/// A value as plain dictionaries and lists, for `--json` and the metadata of files.
pub fn to_python<T: serde::Serialize>(py: Python<'_>, value: &T) -> PyResult<Py<PyAny>> {
    Ok(pythonize(py, value)?.unbind())
}

/// A value as plain dictionaries: an object of JSON.
pub struct Json(Py<PyAny>);

impl Json {
    /// The dictionary of a structure.
    pub fn of<T: serde::Serialize>(py: Python<'_>, value: &T) -> PyResult<Self> {
        to_python(py, value).map(Self)
    }
}

impl<'py> IntoPyObject<'py> for Json {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = std::convert::Infallible;

    const OUTPUT_TYPE: PyStaticExpr = type_hint_subscript!(
        type_hint_identifier!("builtins", "dict"),
        type_hint_identifier!("builtins", "str"),
        type_hint_identifier!("builtins", "object")
    );

    fn into_pyobject(self, py: Python<'py>) -> std::result::Result<Self::Output, Self::Error> {
        Ok(self.0.into_bound(py))
    }
}

/// Runs `work` without the interpreter lock. `work` receives two callbacks: the first returns false if
/// it should stop, and the second reports its progress. Ten times a second signals are handled, and
/// `show` is called with the last progress of `work`. If either raises, `work` is stopped, and the
/// exception is raised here.
pub fn run<T: Send, P: Send + Copy>(
    py: Python<'_>,
    mut show: impl FnMut(Python<'_>, P) -> PyResult<()>,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync), ProgressFn<'_, P>) -> Result<T> + Send,
) -> PyResult<T> {
    let latest = Mutex::new(None::<P>);
    let progress = |now: P| {
        if let Ok(mut latest) = latest.lock() {
            *latest = Some(now);
        }
    };
    let mut show_latest = |py: Python<'_>| {
        // The progress is not taken out: `show` is called again even if nothing has changed, so
        // that it can measure time.
        let now = latest.lock().ok().and_then(|latest| *latest);
        now.map_or(Ok(()), |now| show(py, now))
    };
    let mut result = None;
    let work = |should_continue: &(dyn Fn() -> bool + Sync)| {
        result = Some(work(should_continue, &progress));
    };
    run_beside(py, &mut show_latest, Box::new(work))?;
    result.ok_or_else(internal_error)?.map_err(raise)
}

fn internal_error() -> PyErr {
    FlashpagerError::new_err("internal error; please report it")
}

/// Work without the interpreter lock. It is given a callback that returns false if it should stop.
type Work<'a> = Box<dyn FnOnce(&(dyn Fn() -> bool + Sync)) + Send + 'a>;

/// The part of [`run`] that is the same for all types, and is compiled once.
fn run_beside(
    py: Python<'_>,
    show: &mut dyn FnMut(Python<'_>) -> PyResult<()>,
    work: Work<'_>,
) -> PyResult<()> {
    let stop = AtomicBool::new(false);
    let (finished, mut wait) = mpsc::channel();
    let should_continue = || !stop.load(Ordering::Relaxed);
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // The worker owns the sender, so that a panic drops it and ends the wait, too.
            let _finished: mpsc::Sender<()> = finished;
            work(&should_continue);
        });
        let mut is_running = || {
            // The borrow is unique, as a receiver can be sent to a thread but not shared.
            let wait: &mut mpsc::Receiver<()> = &mut wait;
            wait.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout)
        };
        while py.detach(&mut is_running) {
            let outcome = py.check_signals().and_then(|()| show(py));
            if let (Err(error), true) = (outcome, raised.is_none()) {
                raised = Some(error);
                stop.store(true, Ordering::Relaxed);
            }
        }
        py.detach(|| worker.join())
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) => Err(internal_error()),
    }
}

/// Calls the Python callback `progress`, if there is one, with the last progress of [`run`]'s work.
pub fn call_progress<P: for<'py> PyCallArgs<'py>>(
    progress: &Option<Py<PyAny>>,
) -> impl FnMut(Python<'_>, P) -> PyResult<()> + '_ {
    move |py, now| match progress {
        Some(progress) => progress.call1(py, now).map(drop),
        None => Ok(()),
    }
}

/// A Python view of a value `T` of the engine. Numbers and text are their own views; the view of a
/// structure is the class that [`view!`](crate::seam::view) makes.
pub trait ToPyView<T> {
    /// The value for Python.
    fn view_of(value: &T) -> Self;
}

macro_rules! views_of_plain_values {
    ($($kind:ty),*) => {
        $(impl ToPyView<$kind> for $kind {
            fn view_of(value: &$kind) -> Self {
                value.clone()
            }
        })*
    };
}
views_of_plain_values!(bool, u8, u16, u32, u64, usize, i32, i64, f64, String, std::path::PathBuf);

impl ToPyView<&'static str> for &'static str {
    fn view_of(value: &&'static str) -> Self {
        value
    }
}

impl<T, V: ToPyView<T>> ToPyView<Option<T>> for Option<V> {
    fn view_of(value: &Option<T>) -> Self {
        value.as_ref().map(V::view_of)
    }
}

impl<T, V: ToPyView<T>> ToPyView<Vec<T>> for Vec<V> {
    fn view_of(value: &Vec<T>) -> Self {
        value.iter().map(V::view_of).collect()
    }
}

impl<T, U, V: ToPyView<T>, W: ToPyView<U>> ToPyView<(T, U)> for (V, W) {
    fn view_of(value: &(T, U)) -> Self {
        (V::view_of(&value.0), W::view_of(&value.1))
    }
}

/// The most characters of a field in the representation of an object.
const LONGEST_PART: usize = 400;
/// The most items of a list in the representation of an object.
const LONGEST_LIST: usize = 6;

/// The representation of an object in Python, as `Ram(t_read_ns=37.8, t_write_ns=30.0)`. Long fields
/// are replaced by `…`.
pub fn represented<'a>(
    object: &Bound<'_, PyAny>,
    name: &str,
    fields: impl IntoIterator<Item = &'a str>,
) -> PyResult<String> {
    let mut shown = Vec::new();
    for field in fields {
        shown.push(format!("{field}={}", part_of_representation(&object.getattr(field)?)?));
    }
    Ok(format!("{name}({})", shown.join(", ")))
}

fn part_of_representation(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(list) = value.cast::<PyList>()
        && list.len() > LONGEST_LIST
    {
        return Ok(format!("[… {} items]", list.len()));
    }
    let text = value.repr()?.to_string();
    if text.chars().count() <= LONGEST_PART {
        return Ok(text);
    }
    Ok(format!("{}(…)", value.get_type().name()?))
}

/// Makes a read-only Python class over a structure of the engine. Each field in the list becomes a
/// property of the given type, with its documentation; `field in outer` reads `outer.field`. Further
/// methods may follow. Every such class has `as_dict()`, equality and a representation.
///
/// ```text
/// view! {
///     /// The latency of true faults.
///     Latency = cost::Latency {
///         /// Mean latency of all faults.
///         mean_fault_ns: f64,
///     }
/// }
/// ```
macro_rules! view {
    (
        $(#[$about:meta])*
        $name:ident = $engine:ty {
            $($(#[$field_about:meta])* $field:ident $(in $outer:ident)?: $kind:ty,)*
        }
        $(methods { $($methods:tt)* })?
    ) => {
        $(#[$about])*
        #[pyo3::pyclass(frozen, eq, skip_from_py_object, module = "flashpager._engine")]
        #[derive(Clone, PartialEq)]
        pub struct $name(pub $engine);

        impl $crate::seam::ToPyView<$engine> for $name {
            fn view_of(value: &$engine) -> Self {
                Self(value.clone())
            }
        }

        #[pyo3::pymethods]
        impl $name {
            $(
                $(#[$field_about])*
                // The name is stated, as PyO3 would strip a prefix `get_`.
                #[getter($field)]
                fn $field(&self) -> $kind {
                    <$kind as $crate::seam::ToPyView<_>>::view_of(&self.0$(.$outer)?.$field)
                }
            )*

            /// The value as plain dictionaries and lists, as JSON has it.
            fn as_dict(&self, py: pyo3::Python<'_>) -> pyo3::PyResult<$crate::seam::Json> {
                $crate::seam::Json::of(py, &self.0)
            }

            fn __hash__(&self) -> u64 {
                $crate::seam::hash(&self.0)
            }

            fn __repr__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                let fields = [$(stringify!($field)),*];
                $crate::seam::represented(slf, stringify!($name), fields)
            }

            $($($methods)*)?
        }
    };
}
pub(crate) use view;

/// Makes the names of enumerations their views in Python.
macro_rules! views_by_name {
    ($($kind:ty),* $(,)?) => {
        $(impl $crate::seam::ToPyView<$kind> for &'static str {
            fn view_of(value: &$kind) -> Self {
                value.name()
            }
        })*
    };
}
pub(crate) use views_by_name;
