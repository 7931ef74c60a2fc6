/* The call path: a callable that runs compiled code on float64 arrays with as little ceremony as
 * possible, and hands everything else to a Python fallback.
 *
 * Fast cases: every argument a C-contiguous array of the right type, all vectors (n,) or all
 * batches (N, n) with the same N. Batches release the GIL. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdint.h>
#include <structmember.h>

#define PORTS 8
#define DIMENSIONS 4

typedef void (*one_function)(const void *const *, void *const *);
typedef void (*batch_function)(int64_t, const void *const *, const int64_t *, void *const *);

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    one_function one;
    batch_function batch;
    int inputs, outputs, type;
    int refuse_nan;         /* hand a result with NaN to the fallback, which knows why */
    npy_intp size[PORTS];   /* of one sample of each input */
    int dimensions[PORTS];  /* of one sample of each output */
    npy_intp shape[PORTS][DIMENSIONS];
    npy_intp total[PORTS];
    npy_intp largest;       /* batch that is run here, on one thread */
    PyObject *fallback, *keep, *dict, *weak;
} Fast;

static int has_nan(const Fast *self, void *const *out, npy_intp count) {
    for (int k = 0; k < self->outputs; k++) {
        npy_intp total = count * self->total[k];
        if (self->type == NPY_DOUBLE) {
            const double *x = out[k];
            for (npy_intp i = 0; i < total; i++)
                if (x[i] != x[i]) return 1;
        } else {
            const float *x = out[k];
            for (npy_intp i = 0; i < total; i++)
                if (x[i] != x[i]) return 1;
        }
    }
    return 0;
}

static PyObject *run(Fast *self, PyObject *const *args, npy_intp count, int batched) {
    const void *in[PORTS];
    void *out[PORTS];
    PyObject *results[PORTS];
    for (int k = 0; k < self->inputs; k++) in[k] = PyArray_DATA((PyArrayObject *)args[k]);
    for (int k = 0; k < self->outputs; k++) {
        npy_intp shape[DIMENSIONS + 1];
        int dimensions = self->dimensions[k];
        shape[0] = count;
        for (int d = 0; d < dimensions; d++) shape[d + batched] = self->shape[k][d];
        results[k] = PyArray_SimpleNew(dimensions + batched, shape, self->type);
        if (results[k] == NULL) {
            while (k-- > 0) Py_DECREF(results[k]);
            return NULL;
        }
        out[k] = PyArray_DATA((PyArrayObject *)results[k]);
    }
    int nan = 0;
    if (batched) {
        int64_t stride[PORTS];
        for (int k = 0; k < self->inputs; k++) stride[k] = self->size[k];
        Py_BEGIN_ALLOW_THREADS
        self->batch(count, in, stride, out);
        nan = self->refuse_nan && has_nan(self, out, count);
        Py_END_ALLOW_THREADS
    } else {
        self->one(in, out);
        nan = self->refuse_nan && has_nan(self, out, 1);
    }
    if (nan) {
        for (int k = 0; k < self->outputs; k++) Py_DECREF(results[k]);
        return PyObject_Vectorcall(self->fallback, args, (size_t)self->inputs, NULL);
    }
    if (self->outputs == 1) return results[0];
    PyObject *tuple = PyTuple_New(self->outputs);
    for (int k = 0; k < self->outputs; k++) {
        if (tuple == NULL)
            Py_DECREF(results[k]);
        else
            PyTuple_SET_ITEM(tuple, k, results[k]);
    }
    return tuple;
}

static PyObject *fast_vectorcall(PyObject *callable, PyObject *const *args, size_t flags,
                                 PyObject *keywords) {
    Fast *self = (Fast *)callable;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (given == self->inputs && (keywords == NULL || PyTuple_GET_SIZE(keywords) == 0)) {
        npy_intp count = -1;
        int dimensions = 0, k = 0;
        for (; k < self->inputs; k++) {
            PyArrayObject *array = (PyArrayObject *)args[k];
            if (!PyArray_CheckExact((PyObject *)array) || PyArray_TYPE(array) != self->type ||
                !PyArray_ISCARRAY_RO(array))
                break;
            int own = PyArray_NDIM(array);
            const npy_intp *shape = PyArray_DIMS(array);
            if (own < 1 || own > 2 || shape[own - 1] != self->size[k]) break;
            if (k == 0) {
                dimensions = own;
                count = own == 2 ? shape[0] : 1;
            } else if (own != dimensions || (own == 2 && shape[0] != count)) {
                break;
            }
        }
        if (k == self->inputs && count <= self->largest)
            return run(self, args, count, dimensions == 2);
    }
    return PyObject_Vectorcall(self->fallback, args, flags, keywords);
}

static int read_sizes(PyObject *sizes, PyObject *shapes, Fast *self) {
    Py_ssize_t inputs = PyTuple_GET_SIZE(sizes), outputs = PyTuple_GET_SIZE(shapes);
    if (inputs < 1 || inputs > PORTS || outputs < 1 || outputs > PORTS) {
        PyErr_Format(PyExc_ValueError, "between 1 and %d inputs and outputs", PORTS);
        return -1;
    }
    self->outputs = (int)outputs;
    for (Py_ssize_t k = 0; k < inputs; k++)
        self->size[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, k));
    for (Py_ssize_t k = 0; k < outputs; k++) {
        PyObject *shape = PyTuple_GET_ITEM(shapes, k);
        if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > DIMENSIONS) {
            PyErr_SetString(PyExc_ValueError, "an output shape is a short tuple");
            return -1;
        }
        self->dimensions[k] = (int)PyTuple_GET_SIZE(shape);
        self->total[k] = 1;
        for (int d = 0; d < self->dimensions[k]; d++) {
            self->shape[k][d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
            self->total[k] *= self->shape[k][d];
        }
    }
    if (PyErr_Occurred()) return -1;
    self->inputs = (int)inputs;
    return 0;
}

static PyObject *fast_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"fallback", NULL};
    PyObject *fallback;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &fallback)) return NULL;
    Fast *self = (Fast *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = fast_vectorcall;
    self->fallback = Py_NewRef(fallback);
    self->inputs = -1; /* nothing matches until code is installed */
    return (PyObject *)self;
}

static PyObject *fast_install(Fast *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"one",    "batch", "sizes",      "shapes",
                            "single", "keep",  "refuse_nan", "largest", NULL};
    unsigned long long one, batch;
    PyObject *sizes, *shapes, *keep;
    int single, refuse_nan;
    Py_ssize_t largest;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "KKO!O!pOpn", names, &one, &batch,
                                     &PyTuple_Type, &sizes, &PyTuple_Type, &shapes, &single, &keep,
                                     &refuse_nan, &largest))
        return NULL;
    self->one = (one_function)(uintptr_t)one;
    self->batch = (batch_function)(uintptr_t)batch;
    self->type = single ? NPY_FLOAT : NPY_DOUBLE;
    self->refuse_nan = refuse_nan;
    self->largest = largest;
    Py_XSETREF(self->keep, Py_NewRef(keep));
    if (read_sizes(sizes, shapes, self) < 0) {
        self->inputs = -1;
        return NULL;
    }
    Py_RETURN_NONE;
}

static int fast_traverse(Fast *self, visitproc visit, void *arg) {
    Py_VISIT(self->fallback);
    Py_VISIT(self->keep);
    Py_VISIT(self->dict);
    return 0;
}

static int fast_clear(Fast *self) {
    Py_CLEAR(self->fallback);
    Py_CLEAR(self->keep);
    Py_CLEAR(self->dict);
    return 0;
}

static void fast_dealloc(Fast *self) {
    PyObject_GC_UnTrack(self);
    if (self->weak != NULL) PyObject_ClearWeakRefs((PyObject *)self);
    fast_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *fast_repr(Fast *self) {
    return PyUnicode_FromFormat("<compiled %R>", self->fallback);
}

/* as the bound method it stands for: pickled and copied as an attribute of its robot */
static PyObject *fast_reduce(Fast *self, PyObject *Py_UNUSED(none)) {
    return PyObject_CallMethod(self->fallback, "__reduce__", NULL);
}

static PyMethodDef fast_methods[] = {
    {"__reduce__", (PyCFunction)fast_reduce, METH_NOARGS, "As the method it stands for."},
    {"install", (PyCFunction)(void (*)(void))fast_install, METH_VARARGS | METH_KEYWORDS,
     "Give it compiled code: addresses, sizes of the inputs, shapes of the outputs."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef fast_members[] = {
    {"fallback", T_OBJECT, offsetof(Fast, fallback), READONLY, "what takes every other call"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef fast_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject FastType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamis._fast.Fast",
    .tp_doc = "A compiled function of arrays.",
    .tp_basicsize = sizeof(Fast),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = fast_new,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Fast, vectorcall),
    .tp_dictoffset = offsetof(Fast, dict),
    .tp_weaklistoffset = offsetof(Fast, weak),
    .tp_traverse = (traverseproc)fast_traverse,
    .tp_clear = (inquiry)fast_clear,
    .tp_dealloc = (destructor)fast_dealloc,
    .tp_repr = (reprfunc)fast_repr,
    .tp_methods = fast_methods,
    .tp_members = fast_members,
    .tp_getset = fast_getset,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", "The call path.", -1, NULL,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast(void) {
    import_array();
    if (PyType_Ready(&FastType) < 0) return NULL;
    PyObject *m = PyModule_Create(&module);
    if (m == NULL) return NULL;
    if (PyModule_AddObjectRef(m, "Fast", (PyObject *)&FastType) < 0) {
        Py_DECREF(m);
        return NULL;
    }
    return m;
}
