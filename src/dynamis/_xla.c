/* XLA's call of compiled code: one handler for the processor, one for CUDA.
 *
 * A program of JAX names a function by a number that is the same in every process. The table here
 * holds what the number means in this one: the sizes of one sample of its arguments and results,
 * and machine code or a kernel. Neither handler runs Python.
 *
 * The structs are those of XLA's stable interface for foreign functions (xla/ffi/api/c_api.h,
 * version 0), as far as they are needed; what a newer XLA appends to them does not matter. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAJOR 0
#define MINOR 1 /* of an XLA that does not say */
#define PORTS 64 /* arguments, and results, of one function */
#define BUCKETS 256
#define MESSAGE 400

enum { METADATA = 1 };                      /* XLA_FFI_Extension_Type */
enum { BUFFER = 1 };                        /* XLA_FFI_ArgType, XLA_FFI_RetType */
enum { SCALAR = 3 };                        /* XLA_FFI_AttrType */
enum { EXECUTE = 3 };                       /* XLA_FFI_ExecutionStage */
enum { S64 = 5, F32 = 11, F64 = 12 };       /* XLA_FFI_DataType */
enum { INVALID = 3, MISSING = 5, FAILED = 9, INTERNAL = 13 }; /* XLA_FFI_Error_Code */

typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct Context Context;

typedef struct Extension {
    size_t struct_size;
    int type;
    struct Extension *next;
} Extension;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int major_version, minor_version;
} Version;

typedef struct {
    size_t struct_size;
    Version version;
    uint32_t traits;
} Metadata;

typedef struct {
    Extension base;
    Metadata *metadata;
} MetadataExtension;

typedef struct {
    size_t struct_size;
    Extension *extension;
    const char *message;
    int code;
} ErrorCreate;

typedef struct {
    size_t struct_size;
    Extension *extension;
    XLA_FFI_Error *error;
} ErrorDestroy;

typedef struct {
    size_t struct_size;
    Extension *extension;
    Context *ctx;
    void *stream;
} StreamGet;

typedef struct {
    size_t struct_size;
    Extension *extension;
    Context *ctx;
    void (*task)(void *);
    void *data;
} Schedule;

typedef struct {
    size_t struct_size;
    Extension *extension;
    Context *ctx;
    int64_t *threads;
} ThreadCount;

typedef struct {
    size_t struct_size;
    Extension *extension;
    Version version;
    const void *internal;
    XLA_FFI_Error *(*error_create)(ErrorCreate *);
    void *error_get_message;
    void (*error_destroy)(ErrorDestroy *);
    void *handler_register;
    XLA_FFI_Error *(*stream_get)(StreamGet *);
    void *type_register, *context_get, *state_set, *state_get, *memory_allocate, *memory_free;
    XLA_FFI_Error *(*schedule)(Schedule *);
    XLA_FFI_Error *(*thread_count)(ThreadCount *);
} Api;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int dtype;
    void *data;
    int64_t rank, *dims;
} Buffer;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int64_t size;
    int *types;
    void **values;
} Values; /* XLA_FFI_Args, XLA_FFI_Rets */

typedef struct {
    const char *text;
    size_t length;
} Text;

typedef struct {
    int dtype;
    void *value;
} Scalar;

typedef struct {
    size_t struct_size;
    Extension *extension;
    int64_t size;
    int *types;
    Text **names;
    void **values;
} Attributes;

typedef struct {
    size_t struct_size;
    Extension *extension;
    const Api *api;
    Context *ctx;
    int stage;
    Values arguments, results;
    Attributes attributes;
} Frame;

#define UP_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef void (*batch_function)(int64_t, const void *const *, const int64_t *, void *const *);
typedef int (*launch_function)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, void *, void **, void **); /* cuLaunchKernel */

typedef struct Entry {
    int64_t id;
    int cuda, dtype, inputs, outputs;
    int64_t size[2][PORTS]; /* entries of one sample of the arguments, of the results */
    batch_function batch;
    int64_t largest; /* samples above which other threads help */
    launch_function launch;
    void *kernel;
    unsigned threads;
    struct Entry *next;
} Entry;

static Entry *table[BUCKETS]; /* entries come, and stay: programs of JAX live as long as it does */
static PyThread_type_lock lock;

static Entry *find(int64_t id, int cuda) {
    PyThread_acquire_lock(lock, WAIT_LOCK);
    Entry *entry = table[(uint64_t)id % BUCKETS];
    while (entry && (entry->id != id || entry->cuda != cuda)) entry = entry->next;
    PyThread_release_lock(lock);
    return entry;
}

static XLA_FFI_Error *error(const Api *api, int code, const char *message) {
    ErrorCreate given = {UP_TO(ErrorCreate, code), NULL, message, code};
    return api->error_create(&given);
}

/* the name of a struct that is not as it is known here, or NULL */
static const char *unknown_layout(const Frame *frame) {
    const Api *api = frame->api;
    if (api->version.struct_size != UP_TO(Version, minor_version)) return "XLA_FFI_Api_Version";
    if (api->version.major_version != MAJOR) return "another major version";
    if (api->struct_size < UP_TO(Api, thread_count)) return "XLA_FFI_Api";
    if (frame->struct_size < UP_TO(Frame, attributes)) return "XLA_FFI_CallFrame";
    if (frame->arguments.struct_size != UP_TO(Values, values)) return "XLA_FFI_Args";
    if (frame->results.struct_size != UP_TO(Values, values)) return "XLA_FFI_Rets";
    if (frame->attributes.struct_size < UP_TO(Attributes, values)) return "XLA_FFI_Attrs";
    return NULL;
}

static XLA_FFI_Error *refuse_layout(const Frame *frame, const char *what) {
    char message[MESSAGE];
    snprintf(message, sizeof message,
             "dynamis does not know this interface of XLA for foreign functions (%d.%d: %s); a newer "
             "dynamis, or an older jaxlib, is needed",
             frame->api->version.major_version, frame->api->version.minor_version, what);
    return error(frame->api, FAILED, message);
}

/* XLA asks a handler which interface it was written for, some versions without an api */
static XLA_FFI_Error *answer(const Frame *frame, MetadataExtension *asked) {
    int minor = frame->api ? frame->api->version.minor_version : MINOR;
    Version version = {UP_TO(Version, minor_version), NULL, MAJOR, minor};
    if (asked->base.struct_size < UP_TO(MetadataExtension, metadata)) return NULL;
    if (asked->metadata->struct_size < UP_TO(Metadata, traits)) return NULL;
    asked->metadata->version = version;
    asked->metadata->traits = 0;
    return NULL;
}

/* the attribute "id" */
static int named(const Attributes *given, int64_t *id) {
    for (int64_t k = 0; k < given->size; k++) {
        const Text *name = given->names[k];
        if (name->length != 2 || memcmp(name->text, "id", 2) || given->types[k] != SCALAR) continue;
        const Scalar *scalar = given->values[k];
        if (scalar->dtype != S64) return 0;
        memcpy(id, scalar->value, sizeof *id);
        return 1;
    }
    return 0;
}

/* samples in a buffer, or -1 where it does not hold whole ones of the right type */
static int64_t samples(const Values *given, int64_t k, int dtype, int64_t size) {
    const Buffer *buffer = given->values[k];
    if (given->types[k] != BUFFER || buffer->struct_size < UP_TO(Buffer, dims)) return -1;
    if (buffer->dtype != dtype || buffer->rank < 0) return -1;
    int64_t total = 1;
    for (int64_t d = 0; d < buffer->rank; d++) {
        if (buffer->dims[d] < 0) return -1;
        if (buffer->dims[d] && total > INT64_MAX / buffer->dims[d]) return -1;
        total *= buffer->dims[d];
    }
    return total % size ? -1 : total / size;
}

static XLA_FFI_Error *refuse_buffer(const Frame *frame, const Entry *entry, const char *what,
                                    int64_t k, int64_t size, int64_t count) {
    char message[MESSAGE];
    snprintf(message, sizeof message,
             "%s %lld of a function of dynamis is not %s of %lld entries a sample, %lld samples%s",
             what, (long long)k, entry->dtype == F64 ? "float64" : "float32", (long long)size,
             (long long)count, count < 0 ? " (unknown)" : "");
    return error(frame->api, INVALID, message);
}

/* one call on its way */
typedef struct {
    const Entry *entry;
    int64_t count, stride[PORTS];
    const void *in[PORTS];
    void *out[PORTS];
} Call;

/* what is called, on checked buffers; `ready` says whether there is anything to do */
static XLA_FFI_Error *prepare(Frame *frame, int cuda, Call *call, int *ready) {
    *ready = 0;
    Extension *extension = frame->extension;
    if (extension && extension->type == METADATA)
        return answer(frame, (MetadataExtension *)extension);
    const char *wrong = unknown_layout(frame);
    if (wrong) return refuse_layout(frame, wrong);
    if (frame->stage != EXECUTE) return NULL;

    int64_t id;
    if (!named(&frame->attributes, &id))
        return error(frame->api, INVALID, "a call of dynamis without its attribute id (int64)");
    const Entry *entry = call->entry = find(id, cuda);
    if (!entry) {
        char message[MESSAGE];
        snprintf(message, sizeof message,
                 "function %016llx of dynamis is not known in this process%s: the program was made "
                 "in another one; trace it here, by calling the functions of dynamis.jax under "
                 "jax.jit in this process",
                 (unsigned long long)id, cuda ? " on CUDA" : "");
        return error(frame->api, MISSING, message);
    }
    const Values *in = &frame->arguments, *out = &frame->results;
    if (in->size != entry->inputs || out->size != entry->outputs) {
        char message[MESSAGE];
        snprintf(message, sizeof message,
                 "a function of dynamis got %lld arguments and %lld results, expected %d and %d",
                 (long long)in->size, (long long)out->size, entry->inputs, entry->outputs);
        return error(frame->api, INVALID, message);
    }
    int64_t count = -1;
    for (int k = 0; k < entry->outputs; k++) {
        int64_t found = samples(out, k, entry->dtype, entry->size[1][k]);
        if (found < 0 || (count >= 0 && found != count))
            return refuse_buffer(frame, entry, "result", k, entry->size[1][k], count);
        count = found;
        call->out[k] = ((const Buffer *)out->values[k])->data;
    }
    for (int k = 0; k < entry->inputs; k++) {
        int64_t size = entry->size[0][k], found = samples(in, k, entry->dtype, size);
        if (found != count && found != 1)
            return refuse_buffer(frame, entry, "argument", k, size, count);
        call->in[k] = ((const Buffer *)in->values[k])->data;
        call->stride[k] = found == 1 ? 0 : size;
    }
    call->count = count;
    *ready = count > 0;
    return NULL;
}

/* a batch that XLA's threads share: each takes a span of samples until none is left */
typedef struct {
    Call call;
    int64_t span, spans, next, finished;
    int holders;
    PyThread_type_lock lock, done; /* done is free when all spans are finished */
} Shared;

static void compute(const Call *call, int64_t first, int64_t count) {
    const Entry *entry = call->entry;
    int64_t item = entry->dtype == F64 ? 8 : 4;
    const void *in[PORTS];
    void *out[PORTS];
    for (int k = 0; k < entry->inputs; k++)
        in[k] = (const char *)call->in[k] + first * call->stride[k] * item;
    for (int k = 0; k < entry->outputs; k++)
        out[k] = (char *)call->out[k] + first * entry->size[1][k] * item;
    entry->batch(count, in, call->stride, out);
}

static void take_spans(Shared *shared) {
    for (;;) {
        PyThread_acquire_lock(shared->lock, WAIT_LOCK);
        int64_t k = shared->next < shared->spans ? shared->next++ : -1;
        PyThread_release_lock(shared->lock);
        if (k < 0) return;
        int64_t first = k * shared->span, rest = shared->call.count - first;
        compute(&shared->call, first, rest < shared->span ? rest : shared->span);
        PyThread_acquire_lock(shared->lock, WAIT_LOCK);
        int last = ++shared->finished == shared->spans;
        PyThread_release_lock(shared->lock);
        if (last) PyThread_release_lock(shared->done);
    }
}

static void let_go(Shared *shared) {
    PyThread_acquire_lock(shared->lock, WAIT_LOCK);
    int last = --shared->holders == 0;
    PyThread_release_lock(shared->lock);
    if (!last) return;
    PyThread_free_lock(shared->lock);
    PyThread_free_lock(shared->done);
    PyMem_RawFree(shared);
}

static void help(void *data) { /* a task that comes late finds nothing to do, and touches no array */
    take_spans(data);
    let_go(data);
}

/* what a call of XLA's gave, its error thrown away */
static int succeeded(const Api *api, XLA_FFI_Error *wrong) {
    ErrorDestroy gone = {UP_TO(ErrorDestroy, error), NULL, wrong};
    if (wrong) api->error_destroy(&gone);
    return !wrong;
}

/* 0 where there are no other threads. The caller takes spans itself and then waits only for those
 * that another thread has begun: it never waits for a task that may not have started. */
static int compute_together(const Frame *frame, const Call *call) {
    const Api *api = frame->api;
    int64_t threads = 0;
    ThreadCount asked = {UP_TO(ThreadCount, threads), NULL, frame->ctx, &threads};
    if (!succeeded(api, api->thread_count(&asked)) || threads < 2) return 0;
    int64_t most = call->count / call->entry->largest + 1, each = call->count / threads / 4 / 64;
    if (threads > most) threads = most;
    Shared *shared = PyMem_RawMalloc(sizeof *shared);
    PyThread_type_lock lock = PyThread_allocate_lock(), done = PyThread_allocate_lock();
    if (!shared || !lock || !done) {
        if (lock) PyThread_free_lock(lock);
        if (done) PyThread_free_lock(done);
        PyMem_RawFree(shared);
        return 0;
    }
    int64_t span = 64 * (each + 1);
    Shared made = {*call, span, (call->count - 1) / span + 1, 0, 0, 1, lock, done};
    *shared = made;
    PyThread_acquire_lock(done, WAIT_LOCK);
    for (int64_t k = 1; k < threads; k++) {
        Schedule task = {UP_TO(Schedule, data), NULL, frame->ctx, help, shared};
        PyThread_acquire_lock(lock, WAIT_LOCK);
        shared->holders++;
        PyThread_release_lock(lock);
        if (!succeeded(api, api->schedule(&task))) {
            let_go(shared);
            break;
        }
    }
    take_spans(shared);
    PyThread_acquire_lock(done, WAIT_LOCK);
    PyThread_release_lock(done);
    let_go(shared);
    return 1;
}

static XLA_FFI_Error *on_cpu(Frame *frame) {
    Call call;
    int ready;
    XLA_FFI_Error *wrong = prepare(frame, 0, &call, &ready);
    if (!ready) return wrong;
    if (call.count <= call.entry->largest || !compute_together(frame, &call))
        call.entry->batch(call.count, call.in, call.stride, call.out);
    return NULL;
}

static XLA_FFI_Error *on_cuda(Frame *frame) {
    Call call;
    int ready, used = 0;
    XLA_FFI_Error *wrong = prepare(frame, 1, &call, &ready);
    if (!ready) return wrong;
    const Entry *entry = call.entry;
    void *parameters[1 + 3 * PORTS]; /* addresses of the parameters, each of eight bytes */
    parameters[used++] = &call.count;
    for (int k = 0; k < entry->inputs; k++) {
        parameters[used++] = &call.in[k];
        parameters[used++] = &call.stride[k];
    }
    for (int k = 0; k < entry->outputs; k++) parameters[used++] = &call.out[k];
    StreamGet stream = {UP_TO(StreamGet, stream), NULL, frame->ctx, NULL};
    wrong = frame->api->stream_get(&stream);
    if (wrong) return wrong;
    int64_t blocks = (call.count - 1) / entry->threads + 1;
    if (blocks > INT32_MAX)
        return error(frame->api, INVALID, "more samples than one launch of CUDA takes");
    int code = entry->launch(entry->kernel, (unsigned)blocks, 1, 1, entry->threads, 1, 1, 0,
                             stream.stream, parameters, NULL);
    if (!code) return NULL;
    char message[MESSAGE];
    snprintf(message, sizeof message, "cuLaunchKernel of a function of dynamis gave error %d", code);
    return error(frame->api, INTERNAL, message);
}

/* the table from Python */

static int take_sizes(PyObject *given, int *count, int64_t *sizes) {
    PyObject *items = PySequence_Tuple(given);
    if (!items) return -1;
    Py_ssize_t length = PyTuple_GET_SIZE(items);
    if (length > PORTS) {
        PyErr_Format(PyExc_ValueError, "%zd arguments or results, at most %d", length, PORTS);
        length = -1;
    }
    for (Py_ssize_t k = 0; k < length; k++) {
        sizes[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(items, k));
        if (sizes[k] < 1) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a sample of no entries");
            length = -1;
        }
    }
    Py_DECREF(items);
    *count = (int)length;
    return length < 0 ? -1 : 0;
}

static int agree(const Entry *a, const Entry *b) {
    return a->dtype == b->dtype && a->inputs == b->inputs && a->outputs == b->outputs &&
           !memcmp(a->size[0], b->size[0], a->inputs * sizeof(int64_t)) &&
           !memcmp(a->size[1], b->size[1], a->outputs * sizeof(int64_t));
}

static PyObject *enter(const Entry *given) {
    Entry *known = find(given->id, given->cuda);
    if (known) {
        if (agree(known, given)) Py_RETURN_NONE;
        PyErr_SetString(PyExc_ValueError, "another function is registered under this id");
        return NULL;
    }
    Entry *entry = PyMem_RawMalloc(sizeof *entry);
    if (!entry) return PyErr_NoMemory();
    *entry = *given;
    PyThread_acquire_lock(lock, WAIT_LOCK);
    Entry **bucket = &table[(uint64_t)entry->id % BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
    PyThread_release_lock(lock);
    Py_RETURN_NONE;
}

static PyObject *register_cpu(PyObject *self, PyObject *args) {
    Entry entry = {0};
    PyObject *in, *out;
    long long id, batch, largest;
    int is_double;
    (void)self;
    if (!PyArg_ParseTuple(args, "LpOOLL", &id, &is_double, &in, &out, &batch, &largest)) return NULL;
    entry.id = id, entry.dtype = is_double ? F64 : F32;
    entry.largest = largest < 1 ? 1 : largest;
    entry.batch = (batch_function)(intptr_t)batch;
    if (take_sizes(in, &entry.inputs, entry.size[0]) < 0) return NULL;
    if (take_sizes(out, &entry.outputs, entry.size[1]) < 0) return NULL;
    if (!batch) return PyErr_Format(PyExc_ValueError, "code at address 0");
    return enter(&entry);
}

static PyObject *register_cuda(PyObject *self, PyObject *args) {
    Entry entry = {0};
    PyObject *in, *out;
    long long id, launch, kernel;
    int is_double;
    (void)self;
    if (!PyArg_ParseTuple(args, "LpOOLLI", &id, &is_double, &in, &out, &launch, &kernel,
                          &entry.threads))
        return NULL;
    entry.id = id, entry.cuda = 1, entry.dtype = is_double ? F64 : F32;
    entry.launch = (launch_function)(intptr_t)launch, entry.kernel = (void *)(intptr_t)kernel;
    if (take_sizes(in, &entry.inputs, entry.size[0]) < 0) return NULL;
    if (take_sizes(out, &entry.outputs, entry.size[1]) < 0) return NULL;
    if (!launch || !kernel || !entry.threads)
        return PyErr_Format(PyExc_ValueError, "no cuLaunchKernel, no kernel or no threads");
    return enter(&entry);
}

static PyMethodDef methods[] = {
    {"register", register_cpu, METH_VARARGS,
     "register(id, is_double, input_sizes, output_sizes, batch, largest)\n\n"
     "What a number means on the processor; `batch` is the address of machine code that stays, "
     "`largest` how many samples one thread takes alone."},
    {"register_cuda", register_cuda, METH_VARARGS,
     "register_cuda(id, is_double, input_sizes, output_sizes, launch, kernel, threads)\n\n"
     "What a number means on CUDA; `launch` is the address of cuLaunchKernel, `kernel` a CUkernel."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_xla",
                                    "XLA's call of compiled code.", -1, methods, NULL, NULL, NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__xla(void) {
    if (!lock) lock = PyThread_allocate_lock();
    PyObject *made = lock ? PyModule_Create(&module) : PyErr_NoMemory();
    if (!made) return NULL;
    const char *name = "xla._CUSTOM_CALL_TARGET";
    PyObject *cpu = PyCapsule_New((void *)(intptr_t)on_cpu, name, NULL);
    PyObject *cuda = PyCapsule_New((void *)(intptr_t)on_cuda, name, NULL);
    if (PyModule_AddObjectRef(made, "cpu", cpu) < 0 || PyModule_AddObjectRef(made, "cuda", cuda) < 0)
        Py_CLEAR(made);
    Py_XDECREF(cpu);
    Py_XDECREF(cuda);
    return made;
}
