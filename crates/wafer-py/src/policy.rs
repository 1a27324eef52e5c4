//! A Python object as a policy: selects victims, and the destination of relocated data.

use std::sync::atomic::{AtomicPtr, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::prelude::*;
use wafer_device::policy::{RuView, VictimPolicy};
use wafer_interface::Features;
use wafer_interface::{Owner, RuId};

use crate::error::{PendingError, raise};

/// The candidates of a collection, as arrays. Valid only inside the call of `select_victim` or
/// `select_destination` that received it.
#[pyclass(frozen, module = "wafer._wafer")]
pub(crate) struct ReclaimUnits {
    /// The view while Python code of the policy runs, otherwise null.
    view: AtomicPtr<RuView<'static>>,
}

impl ReclaimUnits {
    /// Queries the view, under the interpreter's lock.
    fn ask<R>(&self, py: Python<'_>, ask: impl FnOnce(&mut RuView<'static>) -> R) -> PyResult<R> {
        let view = self.view.load(Ordering::Relaxed);
        // SAFETY: `Lent` sets the pointer to a view that outlives it, and clears it when the
        // policy's method returns. Both of these, and this function, run under the interpreter's
        // lock, so never concurrently; and `ask` does not call back into Python.
        match unsafe { view.as_mut() } {
            Some(view) => Ok(ask(view)),
            None => {
                let message = "reclaim units are available only inside select_victim and \
                               select_destination; copy the arrays that you want to keep";
                Err(raise(py, "PolicyError", message))
            }
        }
    }

    /// Signed, so that subtraction and negation in Python code do not wrap.
    fn array<'py>(
        &self,
        py: Python<'py>,
        each: impl Fn(&RuView<'_>, RuId, u32) -> i64,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let values: Vec<i64> = self
            .ask(py, |view| view.candidates().map(|(ru, valid)| each(view, ru, valid)).collect())?;
        Ok(PyArray1::from_vec(py, values))
    }

    fn features(&self, py: Python<'_>) -> PyResult<Features> {
        self.ask(py, |view| {
            let mut features = Features::default();
            view.features(&mut features);
            features
        })
    }
}

#[pymethods]
impl ReclaimUnits {
    /// Numbers of the reclaim units.
    #[getter]
    fn ru<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.array(py, |_, ru, _| i64::from(ru.0))
    }

    /// Valid pages.
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.array(py, |_, _, valid| i64::from(valid))
    }

    /// Host pages written to the device since each was closed.
    #[getter]
    fn age<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.array(py, |view, ru, _| signed(view.age(ru)))
    }

    /// Position of each in the order of closing: smaller is older.
    #[getter]
    fn closed_order<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.array(py, |view, ru, _| signed(view.closed_order(ru)))
    }

    /// Erase count of each.
    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.array(py, |view, ru, _| i64::from(view.erases(ru)))
    }

    /// The handle whose data each holds; -1: relocated data of all initially isolated handles.
    #[getter]
    fn handle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.array(py, |view, ru, _| match view.owner(ru) {
            Owner::Handle(handle) => i64::from(handle.0),
            Owner::Gc => -1,
        })
    }

    /// Number of times the data of each was relocated, if kept apart; 0: written by a host.
    /// If the policy chooses destinations: 1 + the class.
    #[getter]
    fn generation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.array(py, |view, ru, _| i64::from(view.generation(ru)))
    }

    /// Host pages written to the device since each was last seen to have lost a valid page.
    #[getter]
    fn since_invalidation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let since = self.features(py)?.since_invalidation;
        Ok(PyArray1::from_vec(py, since.into_iter().map(signed).collect()))
    }

    /// Share of the pages of each that each handle wrote first, candidates x handles.
    #[getter]
    fn origins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let features = self.features(py)?;
        let shape = [features.len(), features.handles];
        PyArray1::from_vec(py, features.origins).reshape(shape)
    }

    /// Host pages written to the device so far.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |view| view.now)
    }

    /// Pages of a reclaim unit.
    #[getter]
    fn pages_per_ru(&self, py: Python<'_>) -> PyResult<u32> {
        self.ask(py, |view| view.pages_per_ru)
    }

    /// Open reclaim units to choose among for relocated data: those that each handle has, or, with
    /// `gc.destination = "writer"`, one of each handle.
    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<u8> {
        self.ask(py, |view| view.classes)
    }

    /// With `gc.destination = "writer"`, in `select_destination`: the handle whose command needs space.
    #[getter]
    fn writer(&self, py: Python<'_>) -> PyResult<u16> {
        self.ask(py, |view| view.writer.0)
    }

    /// Whether space is needed; if not, this is background GC.
    #[getter]
    fn forced(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, |view| view.forced)
    }

    /// A number in `0..bound` from the run's seed.
    fn draw(&self, py: Python<'_>, bound: u32) -> PyResult<u32> {
        if bound == 0 {
            return Err(raise(py, "PolicyError", "draw: the bound must not be 0"));
        }
        self.ask(py, |view| view.draw(bound))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |view| view.candidates().count())
    }
}

/// Converts a count of pages or closings, which is far from the limits of either type.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Lends a view to Python code until dropped.
struct Lent<'a>(&'a ReclaimUnits);

impl<'a> Lent<'a> {
    fn new(units: &'a ReclaimUnits, view: &mut RuView<'_>) -> Self {
        let view: *mut RuView<'_> = view;
        units.view.store(view.cast(), Ordering::Relaxed);
        Lent(units)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.view.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Calls the methods `select_victim` and, if there is one, `select_destination`.
pub(crate) struct PythonPolicy {
    victim: Py<PyAny>,
    destination: Option<Py<PyAny>>,
    units: Py<ReclaimUnits>,
    error: PendingError,
}

impl PythonPolicy {
    pub(crate) fn new(
        py: Python<'_>,
        victim: Py<PyAny>,
        destination: Option<Py<PyAny>>,
        error: &PendingError,
    ) -> PyResult<Self> {
        let units = Py::new(py, ReclaimUnits { view: AtomicPtr::default() })?;
        Ok(PythonPolicy { victim, destination, units, error: error.clone() })
    }

    /// Returns the candidate that Python code selects, by its index in the arrays.
    fn ask_victim(&self, py: Python<'_>, view: &mut RuView<'_>) -> PyResult<Option<RuId>> {
        let returned = {
            let _lent = Lent::new(self.units.get(), view);
            self.victim.call1(py, (&self.units,))?
        };
        let Some(place) = number(returned.bind(py), "select_victim", "candidate index")? else {
            return Ok(None);
        };
        let chosen = usize::try_from(place).ok().and_then(|place| view.candidates().nth(place));
        chosen.map(|(ru, _)| Some(ru)).ok_or_else(|| {
            let count = view.candidates().count();
            let message = format!("select_victim returned {place}; there are {count} candidates");
            raise(py, "PolicyError", &message)
        })
    }

    /// Returns the class that Python code selects for the relocated data of a candidate.
    fn ask_destination(
        &self,
        py: Python<'_>,
        method: &Py<PyAny>,
        victim: RuId,
        view: &mut RuView<'_>,
    ) -> PyResult<Option<u8>> {
        let place = view.candidates().position(|(ru, _)| ru == victim);
        let returned = {
            let _lent = Lent::new(self.units.get(), view);
            method.call1(py, (&self.units, place))?
        };
        let Some(class) = number(returned.bind(py), "select_destination", "class")? else {
            return Ok(None);
        };
        let classes = view.classes;
        u8::try_from(class).ok().filter(|class| *class < classes).map(Some).ok_or_else(|| {
            let message = format!(
                "select_destination returned {class}; there {}, counted from 0",
                if classes == 1 {
                    "is 1 class".to_owned()
                } else {
                    format!("are {classes} classes")
                }
            );
            raise(py, "PolicyError", &message)
        })
    }

    /// Calls Python code. After an exception the run stops within a batch of commands; until then the device chooses on
    /// its own.
    fn asked<R>(&self, ask: impl FnOnce(Python<'_>) -> PyResult<Option<R>>) -> Option<R> {
        if self.error.stop.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            ask(py).unwrap_or_else(|error| {
                self.error.report(error);
                None
            })
        })
    }
}

/// Converts the value that a method returned: an integer from 0, or `None`.
fn number(returned: &Bound<'_, PyAny>, method: &str, what: &str) -> PyResult<Option<i64>> {
    if returned.is_none() {
        return Ok(None);
    }
    returned.extract().map(Some).map_err(|_| {
        let shown = shown(returned);
        let message = format!(
            "{method} returned {shown}, which is not a {what}; return an integer from 0, or None"
        );
        raise(returned.py(), "PolicyError", &message)
    })
}

/// Formats an object for a one-line message.
fn shown(object: &Bound<'_, PyAny>) -> String {
    match object.repr().map(|text| text.to_string()) {
        Ok(text) if text.len() <= 60 && !text.contains('\n') => text,
        _ => object.get_type().name().map_or_else(|_| "?".to_owned(), |name| format!("a {name}")),
    }
}

impl VictimPolicy for PythonPolicy {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        self.asked(|py| self.ask_victim(py, rus))
    }

    fn destination(&mut self, victim: RuId, rus: &mut RuView<'_>) -> Option<u8> {
        let method = self.destination.as_ref()?;
        self.asked(|py| self.ask_destination(py, method, victim, rus))
    }
}
