/* The call path: a callable that runs compiled code on numbers with as little ceremony as possible,
 * and hands everything else to a Python fallback, which says what is right.
 *
 * It is given one entry for each code it may run: which parameters are inputs, and what the others
 * must be (`link`, `frame`, `method`). A sample of an input is a vector, or a matrix that lies row by
 * row. An input is an array of floats or integers of any strides, or a list of numbers; leading axes
 * broadcast. What can be used as it lies is; the rest is copied. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <math.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <stdint.h>
#include <structmember.h>

#define PORTS 8
#define SLOTS 12     /* parameters of a method */
#define DIMENSIONS 4 /* of one sample of a result */
#define LEADING 8    /* axes of a batch */
#define ENTRIES 256
#define BUFFER 512     /* bytes of copied inputs that need no allocation */
#define MOST_THREADS 4096

enum { OUT, THREADS, DTYPE, OPTIONS };

typedef void (*one_function)(const void *const *, void *const *);
typedef void (*batch_function)(int64_t, const void *const *, const int64_t *, void *const *);

typedef struct {
    one_function one;
    batch_function batch;
    int inputs, outputs, type;
    int refuse_nan;         /* hand a result with NaN to the fallback, which knows why */
    int plain;              /* the first parameters are the inputs, the others as by default */
    int port[SLOTS];        /* the input that a parameter is, or -1 */
    PyObject *word[SLOTS];  /* what a parameter that is no input must be: None or a text */
    npy_intp size[PORTS];   /* of one sample of each input */
    int core[PORTS];        /* its axes: 1 or 2 */
    npy_intp width[PORTS];  /* entries along the last of them */
    int dimensions[PORTS];  /* of one sample of each output */
    npy_intp shape[PORTS][DIMENSIONS];
    npy_intp total[PORTS];
    npy_intp largest;       /* batch that is run here unless one thread is asked for */
    PyObject *keep;
} Entry;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Entry *entry[ENTRIES];
    int entries, parameters, named; /* named: parameters may be given by keyword */
    PyObject *names, *defaults;     /* of the parameters; defaults of the last of them */
    PyObject *fallback, *dict, *weak;
} Fast;

static PyObject *option_names[OPTIONS];

/* one call on its way: what was given, and where it lies */
typedef struct {
    PyObject *given[PORTS];
    const char *data[PORTS];
    int64_t stride[PORTS]; /* entries from one sample to the next */
    int copied[PORTS];
    int axes;
    npy_intp lead[LEADING], count;
} Call;

static int is_input_type(int type) {
    return type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_INT || type == NPY_LONG ||
           type == NPY_LONGLONG;
}

/* size numbers, `step` bytes apart, as doubles or floats; -1 where a float cannot hold one */
#define COPY(FROM)                                                                                \
    for (npy_intp i = 0; i < size; i++) {                                                         \
        double x = (double)*(const FROM *)(from + i * step);                                      \
        if (single) {                                                                             \
            ((float *)to)[i] = (float)x;                                                          \
            if (isinf(((float *)to)[i]) && !isinf(x)) return -1;                                  \
        } else {                                                                                  \
            ((double *)to)[i] = x;                                                                \
        }                                                                                         \
    }                                                                                             \
    return 0

static int copy_sample(const char *from, npy_intp step, npy_intp size, int type, void *to,
                       int single) {
    switch (type) {
    case NPY_DOUBLE: COPY(npy_double);
    case NPY_FLOAT: COPY(npy_float);
    case NPY_INT: COPY(npy_int);
    case NPY_LONG: COPY(npy_long);
    default: COPY(npy_longlong);
    }
}

/* the axes of a batch; -1 where the last axes are not one sample of an input, row by row */
static int leading_axes(const Entry *entry, int k, PyArrayObject *array) {
    int own = PyArray_NDIM(array) - entry->core[k];
    if (own < 0) return -1;
    const npy_intp *shape = PyArray_DIMS(array) + own;
    if (entry->core[k] == 1) return shape[0] == entry->size[k] ? own : -1;
    int rows = PyArray_STRIDE(array, own) == shape[1] * PyArray_STRIDE(array, own + 1);
    return rows && shape[1] == entry->width[k] && shape[0] * shape[1] == entry->size[k] ? own : -1;
}

/* samples of an array, each axis of the batch repeated where the array has one entry or none */
static int copy_array(PyArrayObject *array, const Call *call, npy_intp samples, npy_intp size,
                      int core, char *to, int single) {
    int own = PyArray_NDIM(array) - core, type = PyArray_TYPE(array);
    npy_intp step = PyArray_STRIDE(array, own + core - 1), bytes = size * (single ? 4 : 8);
    const char *from = PyArray_BYTES(array);
    npy_intp index[LEADING] = {0}, stride[LEADING] = {0};
    if (samples == 1) return copy_sample(from, step, size, type, to, single);
    for (int d = 0; d < own; d++)
        if (PyArray_DIM(array, d) != 1) stride[call->axes - own + d] = PyArray_STRIDE(array, d);
    for (npy_intp k = 0; k < samples; k++, to += bytes) {
        if (copy_sample(from, step, size, type, to, single) < 0) return -1;
        for (int d = call->axes - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < call->lead[d]) break;
            from -= stride[d] * call->lead[d];
            index[d] = 0;
        }
    }
    return 0;
}

static int copy_list(PyObject *list, npy_intp size, char *to, int single) {
    if (PySequence_Fast_GET_SIZE(list) != size) return -1;
    PyObject **items = PySequence_Fast_ITEMS(list);
    for (npy_intp i = 0; i < size; i++) {
        double x;
        if (PyFloat_CheckExact(items[i]) || Py_IS_TYPE(items[i], &PyDoubleArrType_Type)) {
            x = PyFloat_AS_DOUBLE(items[i]);
        } else if (PyLong_CheckExact(items[i])) {
            int overflow;
            x = (double)PyLong_AsLongLongAndOverflow(items[i], &overflow);
            if (overflow) return -1;
        } else {
            return -1;
        }
        if (copy_sample((char *)&x, 8, 1, NPY_DOUBLE, to + i * (single ? 4 : 8), single) < 0)
            return -1;
    }
    return 0;
}

/* the everyday case: vectors, or batches of one length, that code can read as they lie */
static int lie_ready(const Entry *entry, Call *call) {
    int axes = PyArray_CheckExact(call->given[0]) &&
               PyArray_NDIM((PyArrayObject *)call->given[0]) > entry->core[0];
    call->axes = axes;
    call->count = 1;
    for (int k = 0; k < entry->inputs; k++) {
        PyArrayObject *array = (PyArrayObject *)call->given[k];
        if (!PyArray_CheckExact((PyObject *)array) || PyArray_TYPE(array) != entry->type ||
            !PyArray_ISCARRAY_RO(array) || leading_axes(entry, k, array) != axes)
            return 0;
        const npy_intp *shape = PyArray_DIMS(array);
        if (axes) {
            if (k == 0) call->lead[0] = call->count = shape[0];
            if (shape[0] != call->count) return 0;
            call->stride[k] = entry->size[k];
        }
        call->data[k] = PyArray_BYTES(array);
    }
    return 1;
}

/* the common leading axes; -1 for what is no input of ours or does not broadcast */
static int broadcast(const Entry *entry, Call *call) {
    call->axes = 0;
    for (int k = 0; k < entry->inputs; k++) {
        PyObject *value = call->given[k];
        if (!PyArray_CheckExact(value)) {
            if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return -1;
            if (entry->core[k] != 1) return -1;
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)value;
        int own = leading_axes(entry, k, array);
        const npy_intp *shape = PyArray_DIMS(array);
        if (!is_input_type(PyArray_TYPE(array)) || !PyArray_ISBEHAVED_RO(array) || own < 0 ||
            own > LEADING)
            return -1;
        for (; call->axes < own; call->axes++) {
            memmove(call->lead + 1, call->lead, call->axes * sizeof(npy_intp));
            call->lead[0] = 1;
        }
        npy_intp *lead = call->lead + call->axes - own;
        for (int d = 0; d < own; d++) {
            if (lead[d] == 1)
                lead[d] = shape[d];
            else if (shape[d] != 1 && shape[d] != lead[d])
                return -1;
        }
    }
    call->count = 1;
    for (int d = 0; d < call->axes; d++) call->count *= call->lead[d];
    return 0;
}

/* where every input lies; a buffer for those that must be copied, which may be allocated */
static int lay_out(const Entry *entry, Call *call, char *buffer, char **allocated) {
    int single = entry->type == NPY_FLOAT;
    npy_intp needed = 0, samples[PORTS];
    for (int k = 0; k < entry->inputs; k++) {
        PyArrayObject *array = (PyArrayObject *)call->given[k];
        npy_intp own = 1;
        call->copied[k] = 1;
        if (PyArray_CheckExact(array)) {
            for (int d = 0; d < PyArray_NDIM(array) - entry->core[k]; d++)
                own *= PyArray_DIM(array, d);
            if (PyArray_TYPE(array) == entry->type && PyArray_IS_C_CONTIGUOUS(array))
                call->copied[k] = own != 1 && own != call->count;
        }
        samples[k] = own == 1 ? 1 : call->count;
        call->stride[k] = samples[k] == 1 ? 0 : entry->size[k];
        if (call->copied[k])
            needed += samples[k] * entry->size[k] * (single ? 4 : 8);
        else
            call->data[k] = PyArray_BYTES(array);
    }
    if (needed > BUFFER) {
        buffer = *allocated = PyMem_Malloc((size_t)needed);
        if (buffer == NULL) return -1;
    }
    for (int k = 0; k < entry->inputs; k++) {
        if (!call->copied[k]) continue;
        PyObject *value = call->given[k];
        npy_intp size = entry->size[k];
        int failed = PyArray_CheckExact(value)
                         ? copy_array((PyArrayObject *)value, call, samples[k], size,
                                      entry->core[k], buffer, single)
                         : copy_list(value, size, buffer, single);
        if (failed < 0) return -1;
        call->data[k] = buffer;
        buffer += samples[k] * size * (single ? 4 : 8);
    }
    return 0;
}

/* bytes an array may touch */
static void extent(PyArrayObject *array, const char **low, const char **high) {
    *low = PyArray_BYTES(array);
    *high = *low + PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp reach = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        if (reach < 0)
            *low += reach;
        else
            *high += reach;
    }
}

static int overlaps(PyArrayObject *out, const Entry *entry, const Call *call) {
    const char *low, *high, *first, *last;
    extent(out, &low, &high);
    for (int k = 0; k < entry->inputs; k++) {
        if (!PyArray_CheckExact(call->given[k])) continue;
        extent((PyArrayObject *)call->given[k], &first, &last);
        if (first < high && low < last) return 1;
    }
    return 0;
}

/* the user's own array for a result, borrowed; NULL if it is not right */
static PyArrayObject *destination(PyObject *out, const Entry *entry, int k, int dimensions,
                                  const npy_intp *shape) {
    if (entry->outputs > 1) {
        if (!PyTuple_CheckExact(out) && !PyList_CheckExact(out)) return NULL;
        if (PySequence_Fast_GET_SIZE(out) != entry->outputs) return NULL;
        out = PySequence_Fast_GET_ITEM(out, k);
    }
    PyArrayObject *array = (PyArrayObject *)out;
    if (!PyArray_CheckExact(out) || PyArray_TYPE(array) != entry->type ||
        !PyArray_ISBEHAVED(array) || PyArray_NDIM(array) != dimensions ||
        !PyArray_CompareLists(PyArray_DIMS(array), shape, dimensions))
        return NULL;
    return array;
}

static int has_nan(const Entry *entry, void *const *out, npy_intp count) {
    for (int k = 0; k < entry->outputs; k++) {
        npy_intp total = count * entry->total[k];
        if (entry->type == NPY_DOUBLE) {
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

/* The results, new references; NULL without an exception where the fallback should be asked.
 * `written` are the arrays code writes into, `targets` those that are returned. */
static PyObject *evaluate(const Entry *entry, Call *call, PyObject *given_out) {
    PyObject *written[PORTS], *targets[PORTS], *result = NULL;
    void *out[PORTS];
    npy_intp count = call->count;
    for (int k = 0; k < entry->outputs; k++) written[k] = targets[k] = NULL;
    for (int k = 0; k < entry->outputs; k++) {
        npy_intp shape[LEADING + DIMENSIONS];
        int axes = call->axes, dimensions = axes + entry->dimensions[k];
        for (int d = 0; d < axes; d++) shape[d] = call->lead[d];
        for (int d = axes; d < dimensions; d++) shape[d] = entry->shape[k][d - axes];
        if (given_out != NULL) {
            PyArrayObject *own = destination(given_out, entry, k, dimensions, shape);
            if (own == NULL) goto done;
            targets[k] = Py_NewRef((PyObject *)own);
            if (PyArray_IS_C_CONTIGUOUS(own) && !overlaps(own, entry, call))
                written[k] = Py_NewRef(targets[k]);
        }
        if (written[k] == NULL) {
            written[k] = PyArray_SimpleNew(dimensions, shape, entry->type);
            if (written[k] == NULL) goto done;
        }
        if (targets[k] == NULL) targets[k] = Py_NewRef(written[k]);
        out[k] = PyArray_DATA((PyArrayObject *)written[k]);
    }
    const void *const *in = (const void *const *)call->data;
    int nan = 0;
    if (count == 1) {
        entry->one(in, out);
        nan = entry->refuse_nan && has_nan(entry, out, 1);
    } else if (count > 1) {
        Py_BEGIN_ALLOW_THREADS
        entry->batch(count, in, call->stride, out);
        nan = entry->refuse_nan && has_nan(entry, out, count);
        Py_END_ALLOW_THREADS
    }
    if (nan) goto done;
    for (int k = 0; k < entry->outputs; k++)
        if (targets[k] != written[k] &&
            PyArray_CopyInto((PyArrayObject *)targets[k], (PyArrayObject *)written[k]) < 0)
            goto done;
    if (entry->outputs == 1) {
        result = Py_NewRef(targets[0]);
    } else {
        result = PyTuple_New(entry->outputs);
        for (int k = 0; result != NULL && k < entry->outputs; k++)
            PyTuple_SET_ITEM(result, k, Py_NewRef(targets[k]));
    }
done:
    for (int k = 0; k < entry->outputs; k++) {
        Py_XDECREF(written[k]);
        Py_XDECREF(targets[k]);
    }
    return result;
}

/* NPY_DOUBLE or NPY_FLOAT of what `dtype=` was given; -1 for what needs a closer look */
static int type_of(PyObject *dtype) {
    if (dtype == NULL || dtype == Py_None || dtype == (PyObject *)&PyFloat_Type ||
        dtype == (PyObject *)&PyDoubleArrType_Type)
        return NPY_DOUBLE;
    if (dtype == (PyObject *)&PyFloatArrType_Type) return NPY_FLOAT;
    if (PyArray_DescrCheck(dtype)) {
        PyArray_Descr *kind = (PyArray_Descr *)dtype;
        int type = kind->type_num;
        return PyArray_ISNBO(kind->byteorder) && (type == NPY_DOUBLE || type == NPY_FLOAT) ? type
                                                                                            : -1;
    }
    if (PyUnicode_CheckExact(dtype)) {
        if (PyUnicode_CompareWithASCIIString(dtype, "float64") == 0) return NPY_DOUBLE;
        if (PyUnicode_CompareWithASCIIString(dtype, "float32") == 0) return NPY_FLOAT;
    }
    return -1;
}

/* whether a batch runs on this thread alone */
static int alone(PyObject *threads, const Entry *entry, npy_intp count) {
    if (threads == NULL || threads == Py_None) return count <= entry->largest;
    if (!PyLong_CheckExact(threads)) return 0;
    int overflow;
    long number = PyLong_AsLongAndOverflow(threads, &overflow);
    return number == 1 || (count <= 1 && !overflow && number > 1 && number <= MOST_THREADS);
}

/* values of the parameters, then of the options; -1 for a keyword that is unknown or given twice */
static int bind(const Fast *self, PyObject *const *args, Py_ssize_t given, PyObject *keywords,
                PyObject **value, PyObject **option) {
    for (Py_ssize_t k = 0; k < given; k++) value[k] = args[k];
    Py_ssize_t count = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k), **place = NULL;
        for (int exact = 1; exact >= 0 && place == NULL; exact--) { /* first by identity */
            for (int s = 0; s < OPTIONS && place == NULL; s++)
                if (exact ? name == option_names[s] : PyUnicode_Compare(name, option_names[s]) == 0)
                    place = option + s;
            for (int s = 0; self->named && s < self->parameters && place == NULL; s++) {
                PyObject *own = PyTuple_GET_ITEM(self->names, s);
                if (exact ? name == own : PyUnicode_Compare(name, own) == 0) place = value + s;
            }
        }
        if (place == NULL || *place != NULL) return -1;
        *place = args[given + k];
    }
    return 0;
}

static int same_word(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    return PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0;
}

static int matches(const Fast *self, const Entry *entry, PyObject *const *value, Call *call) {
    Py_ssize_t first = self->parameters - PyTuple_GET_SIZE(self->defaults);
    for (int s = 0; s < self->parameters; s++) {
        PyObject *x = value[s];
        if (x == NULL && s >= first) x = PyTuple_GET_ITEM(self->defaults, s - first);
        if (x == NULL) return 0;
        if (entry->port[s] < 0) {
            if (!same_word(x, entry->word[s])) return 0;
        } else {
            if (x == Py_None) return 0;
            call->given[entry->port[s]] = x;
        }
    }
    return 1;
}

/* Vectors that lie ready, the everyday call; NULL where it is another, or gives NaN. */
static PyObject *one_sample(const Entry *entry, PyObject *const *args) {
    const void *in[PORTS];
    void *out[PORTS] = {NULL};
    PyObject *results[PORTS];
    for (int k = 0; k < entry->inputs; k++) {
        PyArrayObject *array = (PyArrayObject *)args[k];
        if (!PyArray_CheckExact((PyObject *)array) || PyArray_NDIM(array) != 1 ||
            PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array) ||
            PyArray_DIM(array, 0) != entry->size[k])
            return NULL;
        in[k] = PyArray_DATA(array);
    }
    int made = 0, nan = 0;
    for (; made < entry->outputs; made++) {
        results[made] = PyArray_SimpleNew(entry->dimensions[made], entry->shape[made], NPY_DOUBLE);
        if (results[made] == NULL) break;
        out[made] = PyArray_DATA((PyArrayObject *)results[made]);
    }
    if (made == entry->outputs) {
        entry->one(in, out);
        nan = entry->refuse_nan && has_nan(entry, out, 1);
        if (!nan && made == 1) return results[0];
    }
    PyObject *tuple = made < entry->outputs || nan ? NULL : PyTuple_New(made);
    for (int k = 0; k < made; k++) {
        if (tuple == NULL)
            Py_DECREF(results[k]);
        else
            PyTuple_SET_ITEM(tuple, k, results[k]);
    }
    return tuple;
}

/* The result by compiled code; NULL without an exception where the fallback should be asked. */
static PyObject *attempt(const Fast *self, PyObject *const *args, Py_ssize_t given,
                         PyObject *keywords) {
    PyObject *option[OPTIONS] = {NULL};
    Call call;
    const Entry *entry = self->entry[0];
    if (keywords == NULL && entry->plain && given == entry->inputs) {
        for (int k = 0; k < entry->inputs; k++) call.given[k] = args[k];
    } else {
        PyObject *value[SLOTS] = {NULL};
        if (bind(self, args, given, keywords, value, option) < 0) return NULL;
        int type = type_of(option[DTYPE]), k = 0;
        while (k < self->entries &&
               (self->entry[k]->type != type || !matches(self, self->entry[k], value, &call)))
            k++;
        if (k == self->entries) return NULL;
        entry = self->entry[k];
    }
    double buffer[BUFFER / sizeof(double)];
    char *allocated = NULL;
    PyObject *result = NULL, *out = option[OUT] == Py_None ? NULL : option[OUT];
    int ready = lie_ready(entry, &call);
    if ((ready || broadcast(entry, &call) == 0) && alone(option[THREADS], entry, call.count) &&
        (ready || lay_out(entry, &call, (char *)buffer, &allocated) == 0))
        result = evaluate(entry, &call, out);
    if (allocated != NULL) PyMem_Free(allocated);
    return result;
}

static PyObject *fast_vectorcall(PyObject *callable, PyObject *const *args, size_t flags,
                                 PyObject *keywords) {
    Fast *self = (Fast *)callable;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    const Entry *first = self->entry[0];
    if (first != NULL && keywords == NULL && first->plain && given == first->inputs) {
        PyObject *result = one_sample(first, args);
        if (result != NULL || PyErr_Occurred()) return result;
    }
    if (self->entries > 0 && given <= self->parameters) {
        PyObject *result = attempt(self, args, given, keywords);
        if (result != NULL || PyErr_Occurred()) return result;
    }
    return PyObject_Vectorcall(self->fallback, args, flags, keywords);
}

static PyObject *fast_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"fallback", "parameters", "defaults", "named", NULL};
    PyObject *fallback, *parameters, *defaults;
    int named = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!O!|p", names, &fallback, &PyTuple_Type,
                                     &parameters, &PyTuple_Type, &defaults, &named))
        return NULL;
    Fast *self = (Fast *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = fast_vectorcall;
    self->fallback = Py_NewRef(fallback);
    self->names = Py_NewRef(parameters);
    self->defaults = Py_NewRef(defaults);
    self->parameters = (int)PyTuple_GET_SIZE(parameters);
    self->named = named;
    return (PyObject *)self;
}

static int read_entry(Entry *entry, PyObject *ports, PyObject *words, PyObject *sizes,
                      PyObject *shapes) {
    entry->inputs = (int)PyTuple_GET_SIZE(sizes);
    entry->outputs = (int)PyTuple_GET_SIZE(shapes);
    for (Py_ssize_t s = 0; s < PyTuple_GET_SIZE(ports); s++) {
        entry->port[s] = (int)PyLong_AsLong(PyTuple_GET_ITEM(ports, s));
        entry->word[s] = PyTuple_GET_ITEM(words, s);
    }
    for (int k = 0; k < entry->inputs; k++) {
        PyObject *shape = PyTuple_GET_ITEM(sizes, k);
        entry->core[k] = (int)PyTuple_GET_SIZE(shape);
        if (entry->core[k] != 1 && entry->core[k] != 2) return 0;
        entry->size[k] = entry->width[k] =
            PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, entry->core[k] - 1));
        if (entry->core[k] == 2) entry->size[k] *= PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0));
    }
    for (int k = 0; k < entry->outputs; k++) {
        PyObject *shape = PyTuple_GET_ITEM(shapes, k);
        entry->dimensions[k] = (int)PyTuple_GET_SIZE(shape);
        if (entry->dimensions[k] > DIMENSIONS) return 0;
        entry->total[k] = 1;
        for (int d = 0; d < entry->dimensions[k]; d++) {
            entry->shape[k][d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
            entry->total[k] *= entry->shape[k][d];
        }
    }
    return PyErr_Occurred() ? -1 : 1;
}

static int fast_traverse(Fast *self, visitproc visit, void *arg) {
    Py_VISIT(self->fallback);
    Py_VISIT(self->names);
    Py_VISIT(self->defaults);
    Py_VISIT(self->dict);
    for (int k = 0; k < self->entries; k++) Py_VISIT(self->entry[k]->keep);
    return 0;
}

static int fast_clear(Fast *self) {
    while (self->entries > 0) {
        Entry *entry = self->entry[--self->entries];
        self->entry[self->entries] = NULL;
        for (int s = 0; s < self->parameters; s++) Py_CLEAR(entry->word[s]);
        Py_CLEAR(entry->keep);
        PyMem_Free(entry);
    }
    Py_CLEAR(self->fallback);
    Py_CLEAR(self->names);
    Py_CLEAR(self->defaults);
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

/* as what it stands for: a bound method is pickled and copied as an attribute of its robot, a
 * function is copied as itself */
static PyObject *fast_reduce(Fast *self, PyObject *Py_UNUSED(none)) {
    if (PyFunction_Check(self->fallback))
        return PyObject_GetAttrString(self->fallback, "__qualname__");
    return PyObject_CallMethod(self->fallback, "__reduce__", NULL);
}

/* bound already: with a `__get__` it counts as a routine, which `help` shows with its signature */
static PyObject *fast_get(PyObject *self, PyObject *Py_UNUSED(object), PyObject *Py_UNUSED(type)) {
    return Py_NewRef(self);
}

static PyMethodDef fast_methods[] = {
    {"__reduce__", (PyCFunction)fast_reduce, METH_NOARGS, "As the method it stands for."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef fast_members[] = {
    {"fallback", T_OBJECT, offsetof(Fast, fallback), READONLY, "what takes every other call"},
    {"parameters", T_OBJECT, offsetof(Fast, names), READONLY, "names of the parameters"},
    {"defaults", T_OBJECT, offsetof(Fast, defaults), READONLY, "of the last parameters"},
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
    .tp_descr_get = fast_get,
    .tp_methods = fast_methods,
    .tp_members = fast_members,
    .tp_getset = fast_getset,
};

/* what does not fit into the tables is left to the fallback */
static PyObject *install(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    static char *names[] = {"fast",   "one",  "batch",      "ports",   "words", "sizes", "shapes",
                            "single", "keep", "refuse_nan", "largest", NULL};
    Fast *self;
    unsigned long long one, batch;
    PyObject *ports, *words, *sizes, *shapes, *keep;
    int single, refuse_nan;
    Py_ssize_t largest;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!KKO!O!O!O!pOpn", names, &FastType, &self, &one, &batch,
                                     &PyTuple_Type, &ports, &PyTuple_Type, &words, &PyTuple_Type,
                                     &sizes, &PyTuple_Type, &shapes, &single, &keep, &refuse_nan,
                                     &largest))
        return NULL;
    if (self->parameters > SLOTS || PyTuple_GET_SIZE(ports) != self->parameters ||
        PyTuple_GET_SIZE(words) != self->parameters || PyTuple_GET_SIZE(sizes) > PORTS ||
        PyTuple_GET_SIZE(shapes) > PORTS || self->entries == ENTRIES)
        Py_RETURN_NONE;
    for (int k = 0; k < self->entries; k++) {
        int same = self->entry[k]->keep == keep;
        for (int s = 0; s < self->parameters && same; s++)
            same = same_word(self->entry[k]->word[s], PyTuple_GET_ITEM(words, s));
        if (same) Py_RETURN_NONE;
    }
    Entry *entry = PyMem_Calloc(1, sizeof(Entry));
    if (entry == NULL) return PyErr_NoMemory();
    entry->one = (one_function)(uintptr_t)one;
    entry->batch = (batch_function)(uintptr_t)batch;
    entry->type = single ? NPY_FLOAT : NPY_DOUBLE;
    entry->refuse_nan = refuse_nan;
    entry->largest = largest;
    int fits = read_entry(entry, ports, words, sizes, shapes);
    if (fits != 1) {
        PyMem_Free(entry);
        if (fits < 0) return NULL;
        Py_RETURN_NONE;
    }
    entry->keep = Py_NewRef(keep);
    for (int s = 0; s < self->parameters; s++) Py_INCREF(entry->word[s]);
    self->entry[self->entries++] = entry;
    entry->plain = entry->type == NPY_DOUBLE;
    for (int k = 0; k < entry->inputs; k++) entry->plain &= entry->core[k] == 1;
    Py_ssize_t first = self->parameters - PyTuple_GET_SIZE(self->defaults);
    for (int s = 0; s < self->parameters; s++)
        entry->plain &= s < entry->inputs
                            ? entry->port[s] == s
                            : s >= first && same_word(entry->word[s],
                                                      PyTuple_GET_ITEM(self->defaults, s - first));
    if (entry->plain) { /* is looked at first */
        self->entry[self->entries - 1] = self->entry[0];
        self->entry[0] = entry;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"install", (PyCFunction)(void (*)(void))install, METH_VARARGS | METH_KEYWORDS,
     "Give a Fast compiled code: addresses, what its parameters are, shapes of the inputs and of "
     "the outputs."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", "The call path.", -1, functions,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast(void) {
    import_array();
    static const char *const names[OPTIONS] = {"out", "threads", "dtype"};
    for (int s = 0; s < OPTIONS; s++)
        if ((option_names[s] = PyUnicode_InternFromString(names[s])) == NULL) return NULL;
    if (PyType_Ready(&FastType) < 0) return NULL;
    PyObject *m = PyModule_Create(&module);
    if (m == NULL) return NULL;
    if (PyModule_AddObjectRef(m, "Fast", (PyObject *)&FastType) < 0) {
        Py_DECREF(m);
        return NULL;
    }
    return m;
}
