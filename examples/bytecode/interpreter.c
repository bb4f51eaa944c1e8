/* See interpreter.h. */
#include "interpreter.h"

#include "memory.h"

#include <stddef.h>
#include <string.h>

/* A class: its superclass or 255, bytes of an object, rows of interfaces' methods and where they
 * begin, where its table of methods begins, its initialiser or 0xffff. */
struct program_class {
    uint8_t above, object_bytes, selected;
    uint16_t vtable, first_selected, initialiser;
};

/* A method: where it lies, or a number from PROGRAM_NATIVE on; slots of arguments, of all locals,
 * and what it needs of the stack behind its arguments. */
struct program_method {
    uint16_t offset;
    uint8_t arguments, locals, room;
};

/* The method that an object's class has for a method of an interface. */
struct program_selected {
    uint8_t selector;
    uint16_t method;
};

#define PROGRAM_NATIVE 0xff00u
#define PROGRAM_NOWHERE 0xffffu
#define PROGRAM_TABLES
#include "program.h"

/* Kinds of fields, and of elements of arrays, as specialize.py has them. */
enum kind { KIND_BYTE, KIND_CHAR, KIND_SHORT, KIND_INT, KIND_REF };

enum opcode {
    ACONST_NULL = 1,
    ICONST_M1,
    ICONST_0,
    ICONST_5 = 8,
    BIPUSH = 16,
    SIPUSH,
    LDC,
    ILOAD = 21,
    ALOAD = 25,
    ILOAD_0,
    ILOAD_3 = 29,
    ALOAD_0 = 42,
    ALOAD_3 = 45,
    IALOAD,
    AALOAD = 50,
    BALOAD,
    CALOAD,
    SALOAD,
    ISTORE,
    ASTORE = 58,
    ISTORE_0,
    ISTORE_3 = 62,
    ASTORE_0 = 75,
    ASTORE_3 = 78,
    IASTORE,
    AASTORE = 83,
    BASTORE,
    CASTORE,
    SASTORE,
    POP,
    DUP = 89,
    DUP_X1,
    DUP_X2,
    DUP2,
    IADD = 96,
    ISUB = 100,
    IMUL = 104,
    LMUL,
    IDIV = 108,
    IREM = 112,
    ISHL = 120,
    ISHR = 122,
    LSHR,
    IAND = 126,
    IOR = 128,
    IXOR = 130,
    IINC = 132,
    I2L,
    L2I = 136,
    I2B = 145,
    I2S = 147,
    IFEQ = 153,
    IFNE,
    IFLT,
    IFGE,
    IFGT,
    IFLE,
    IF_ICMPEQ,
    IF_ICMPNE,
    IF_ICMPLT,
    IF_ICMPGE,
    IF_ICMPGT,
    IF_ICMPLE,
    IF_ACMPEQ,
    IF_ACMPNE,
    GOTO,
    IRETURN = 172,
    ARETURN = 176,
    RETURN,
    GETSTATIC,
    PUTSTATIC,
    GETFIELD,
    PUTFIELD,
    INVOKEVIRTUAL,
    INVOKESPECIAL,
    INVOKESTATIC,
    INVOKEINTERFACE,
    NEW = 187,
    NEWARRAY,
    ANEWARRAY,
    ARRAYLENGTH,
    CHECKCAST = 192,
    IFNULL = 198,
    IFNONNULL,
    NEW_INITIALISED = 203, /* specialize.py's own: NEW of a class that has an initialiser */
};

/* An object's first byte is its class; an array's is ARRAY and the kind of its elements, and its
 * length stands behind the header. */
#define HEADER_BYTES 2
#define ARRAY_BYTES 4
#define ARRAY 0x80

static uint8_t heap[VM_HEAP_BYTES];
static uint8_t statics[PROGRAM_STATIC_BYTES];
static uint8_t is_initialised[(PROGRAM_CLASSES + 7) / 8];
static uint16_t heap_end; /* of what is used */
static int32_t stack[VM_STACK_SLOTS];
static int32_t *sp;     /* behind the topmost slot */
static int32_t *locals;
static int32_t *saved;  /* what the running method returns to */
static uint16_t stack_most;

/* What `saved` points to: where the caller goes on, and its locals and `saved`, as distances. */
#define SAVED(at, locals_distance, saved_distance)                                               \
    ((int32_t)((uint32_t)(at) | (uint32_t)(uint8_t)(locals_distance) << 16 |                     \
               (uint32_t)(uint8_t)(saved_distance) << 24))
/* Where nobody goes on: vm_call() ends. */
#define AT_NOWHERE 0xffffu

static void run(void);

__attribute__((noreturn)) static void stop(const char *why)
{
    vm_stop(why, code_tell());
}

static inline uint8_t take(void)
{
    AVR_JOB(read);
    const int byte = code_byte();
#ifndef MEMORY_IN_PLACE
    if (byte < 0)
        stop(PROGRAM_TEXT("the pager has no such byte"));
#endif
    AVR_JOB(program);
    CODE_TAKEN((uint8_t)byte);
    return (uint8_t)byte;
}

static inline uint16_t take2(void)
{
    const uint8_t high = take();
    return (uint16_t)(high << 8 | take());
}

static inline void push(int32_t value)
{
    *sp++ = value;
}

static inline int32_t pop(void)
{
    return *--sp;
}

static inline int64_t pop_long(void)
{
    int64_t value;
    sp -= 2;
    memcpy(&value, sp, sizeof(value));
    return value;
}

static inline void push_long(int64_t value)
{
    memcpy(sp, &value, sizeof(value));
    sp += 2;
}

/* Memory. */

static int32_t load(const uint8_t *from, uint8_t kind)
{
    int16_t half;
    int32_t word;
    switch (kind) {
    case KIND_BYTE:
        return (int8_t)*from;
    case KIND_INT:
        memcpy(&word, from, sizeof(word));
        return word;
    case KIND_SHORT:
        memcpy(&half, from, sizeof(half));
        return half;
    default:
        memcpy(&half, from, sizeof(half));
        return (uint16_t)half;
    }
}

static void store(uint8_t *to, uint8_t kind, int32_t value)
{
    const uint16_t half = (uint16_t)value;
    switch (kind) {
    case KIND_BYTE:
        *to = (uint8_t)value;
        break;
    case KIND_INT:
        memcpy(to, &value, sizeof(value));
        break;
    default:
        memcpy(to, &half, sizeof(half));
    }
}

static uint8_t *object(int32_t ref)
{
    if (!ref)
        stop(PROGRAM_TEXT("an object is null"));
    return heap + (uint16_t)ref;
}

static uint16_t length_of(const uint8_t *array)
{
    uint16_t length;
    memcpy(&length, array + HEADER_BYTES, sizeof(length));
    return length;
}

static vm_ref allocate(uint8_t type, uint16_t size)
{
    const uint16_t at = heap_end;
    if (size > VM_HEAP_BYTES - at)
        stop(PROGRAM_TEXT("the heap is full"));
    heap_end = (uint16_t)(at + ((size + 1u) & ~1u));
    heap[at] = type;
    return at;
}

vm_ref vm_new(uint8_t number)
{
    return allocate(number, PROGRAM_BYTE(program_classes[number].object_bytes));
}

static uint8_t shift_of(uint8_t kind)
{
    return kind == KIND_BYTE ? 0 : kind == KIND_INT ? 2 : 1;
}

static vm_ref new_array(uint8_t kind, int32_t length)
{
    const uint8_t shift = shift_of(kind);
    const uint16_t count = (uint16_t)length;
    vm_ref array;
    if (length < 0)
        stop(PROGRAM_TEXT("an array has less than no elements"));
    if (length > VM_HEAP_BYTES >> shift)
        stop(PROGRAM_TEXT("the heap is full"));
    array = allocate(ARRAY | kind, (uint16_t)(ARRAY_BYTES + (count << shift)));
    memcpy(heap + array + HEADER_BYTES, &count, sizeof(count));
    return array;
}

/* An element: array and index are popped. */
static uint8_t *element(uint8_t kind)
{
    const int32_t index = pop();
    uint8_t *array = object(pop());
    if (index < 0 || index >= length_of(array))
        stop(PROGRAM_TEXT("an index is outside of its array"));
    return array + ARRAY_BYTES + ((uint16_t)index << shift_of(kind));
}

uint8_t *vm_bytes(vm_ref array, uint16_t *length)
{
    uint8_t *of = object(array);
    *length = length_of(of);
    return of + ARRAY_BYTES;
}

vm_ref vm_field_ref(vm_ref of, uint8_t place)
{
    return (vm_ref)load(object(of) + place, KIND_REF);
}

/* Calls. */

static void enter(uint16_t number, uint16_t should_continue)
{
    const struct program_method *method = &program_methods[number];
    const uint16_t offset = PROGRAM_WORD(method->offset);
    int32_t *const of_caller = locals, *const saved_by_caller = saved;
    const uint16_t needs = (uint16_t)(sp - stack) + PROGRAM_BYTE(method->room);
    if (needs > VM_STACK_SLOTS)
        stop(PROGRAM_TEXT("the stack is full"));
    if (needs > stack_most)
        stack_most = needs;
    locals = sp - PROGRAM_BYTE(method->arguments);
    saved = locals + PROGRAM_BYTE(method->locals);
    *saved = SAVED(should_continue, locals - of_caller, saved - saved_by_caller);
    sp = saved + 1;
    code_jump(offset);
}

static void invoke(uint16_t number)
{
    const uint16_t offset = PROGRAM_WORD(program_methods[number].offset);
    if (offset < PROGRAM_NATIVE) {
        enter(number, code_tell());
        return;
    }
    if (offset == PROGRAM_NOWHERE)
        stop(PROGRAM_TEXT("a method is called that is not in the image"));
    sp -= PROGRAM_BYTE(program_methods[number].arguments);
    *sp = vm_native((uint8_t)offset, sp);
    /* Of the natives, those return nothing: see specialize.py's NATIVES. */
    if ((uint8_t)offset != 0 && (uint8_t)offset != 3)
        sp++;
}

/* Whether there is still a caller within this run(). */
static uint8_t leave(void)
{
    const uint32_t back = (uint32_t)*saved;
    sp = locals;
    locals -= (uint8_t)(back >> 16);
    saved -= (uint8_t)(back >> 24);
    if ((uint16_t)back == AT_NOWHERE)
        return 0;
    code_jump((uint16_t)back);
    return 1;
}

/* Run a class's initialiser unless it has run. */
static void initialise(uint8_t number)
{
    const uint8_t bit = (uint8_t)(1 << (number & 7));
    uint16_t at;
    if (is_initialised[number >> 3] & bit)
        return;
    is_initialised[number >> 3] |= bit;
    at = code_tell();
    enter(PROGRAM_WORD(program_classes[number].initialiser), AT_NOWHERE);
    run();
    code_jump(at);
}

static void call_selected(uint16_t selector)
{
    const uint8_t arguments = PROGRAM_BYTE(program_selector_arguments[selector]);
    const uint8_t number = *object(sp[-arguments]);
    uint16_t row = PROGRAM_WORD(program_classes[number].first_selected);
    for (uint8_t rows = PROGRAM_BYTE(program_classes[number].selected); rows; rows--, row++)
        if (PROGRAM_BYTE(program_selected[row].selector) == selector) {
            invoke(PROGRAM_WORD(program_selected[row].method));
            return;
        }
    stop(PROGRAM_TEXT("a class has not what an interface wants"));
}

static void check_cast(uint8_t to)
{
    uint8_t number;
    if (!sp[-1])
        return;
    number = *object(sp[-1]);
    while (number != to) {
        if (number >= PROGRAM_CLASSES)
            stop(PROGRAM_TEXT("an object is of another class"));
        number = PROGRAM_BYTE(program_classes[number].above);
    }
}

/* Arithmetic, which wraps. */

static int32_t divide(int32_t a, int32_t b)
{
    if (b == 0)
        stop(PROGRAM_TEXT("a division by 0"));
    return b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

static int32_t remainder_of(int32_t a, int32_t b)
{
    if (b == 0)
        stop(PROGRAM_TEXT("a division by 0"));
    return b == -1 ? 0 : a % b;
}

static int is_true(uint8_t opcode, int32_t a, int32_t b)
{
    switch (opcode) {
    case IFEQ:
        return a == b;
    case IFNE:
        return a != b;
    case IFLT:
        return a < b;
    case IFGE:
        return a >= b;
    case IFGT:
        return a > b;
    default:
        return a <= b;
    }
}

/* Both bytes are taken whether it jumps or not: they are the instruction's. */
static inline void jump_if(int condition)
{
    const uint16_t distance = take2();
    if (condition)
        code_jump((uint16_t)(code_tell() - 3u + distance));
}

static void array_load(uint8_t kind)
{
    const uint8_t *from = element(kind);
    push(load(from, kind));
}

static void array_store(uint8_t kind)
{
    const int32_t value = pop();
    store(element(kind), kind, value);
}

/* To the return of what entered last with AT_NOWHERE. */
static void run(void)
{
    for (;;) {
        const uint8_t opcode = take();
        switch (opcode) {
        case ACONST_NULL:
            push(0);
            break;
        case ICONST_M1:
        case ICONST_0:
        case ICONST_0 + 1:
        case ICONST_0 + 2:
        case ICONST_0 + 3:
        case ICONST_0 + 4:
        case ICONST_5:
            push((int32_t)opcode - ICONST_0);
            break;
        case BIPUSH:
            push((int8_t)take());
            break;
        case SIPUSH:
            push((int16_t)take2());
            break;
        case LDC:
            push(PROGRAM_INT(program_constants[take()]));
            break;
        case ILOAD:
        case ALOAD:
            push(locals[take()]);
            break;
        case ILOAD_0:
        case ILOAD_0 + 1:
        case ILOAD_0 + 2:
        case ILOAD_3:
            push(locals[opcode - ILOAD_0]);
            break;
        case ALOAD_0:
        case ALOAD_0 + 1:
        case ALOAD_0 + 2:
        case ALOAD_3:
            push(locals[opcode - ALOAD_0]);
            break;
        case IALOAD:
            array_load(KIND_INT);
            break;
        case AALOAD:
            array_load(KIND_REF);
            break;
        case BALOAD:
            array_load(KIND_BYTE);
            break;
        case CALOAD:
            array_load(KIND_CHAR);
            break;
        case SALOAD:
            array_load(KIND_SHORT);
            break;
        case ISTORE:
        case ASTORE: {
            const uint8_t local = take();
            locals[local] = pop();
            break;
        }
        case ISTORE_0:
        case ISTORE_0 + 1:
        case ISTORE_0 + 2:
        case ISTORE_3:
            locals[opcode - ISTORE_0] = pop();
            break;
        case ASTORE_0:
        case ASTORE_0 + 1:
        case ASTORE_0 + 2:
        case ASTORE_3:
            locals[opcode - ASTORE_0] = pop();
            break;
        case IASTORE:
            array_store(KIND_INT);
            break;
        case AASTORE:
            array_store(KIND_REF);
            break;
        case BASTORE:
            array_store(KIND_BYTE);
            break;
        case CASTORE:
            array_store(KIND_CHAR);
            break;
        case SASTORE:
            array_store(KIND_SHORT);
            break;
        case POP:
            sp--;
            break;
        case DUP:
            push(sp[-1]);
            break;
        case DUP_X1:
            sp[0] = sp[-1];
            sp[-1] = sp[-2];
            sp[-2] = sp[0];
            sp++;
            break;
        case DUP_X2:
            sp[0] = sp[-1];
            sp[-1] = sp[-2];
            sp[-2] = sp[-3];
            sp[-3] = sp[0];
            sp++;
            break;
        case DUP2:
            sp[0] = sp[-2];
            sp[1] = sp[-1];
            sp += 2;
            break;
        case IADD:
            sp--;
            sp[-1] = (int32_t)((uint32_t)sp[-1] + (uint32_t)sp[0]);
            break;
        case ISUB:
            sp--;
            sp[-1] = (int32_t)((uint32_t)sp[-1] - (uint32_t)sp[0]);
            break;
        case IMUL:
            sp--;
            sp[-1] = (int32_t)((uint32_t)sp[-1] * (uint32_t)sp[0]);
            break;
        case IDIV:
            sp--;
            sp[-1] = divide(sp[-1], sp[0]);
            break;
        case IREM:
            sp--;
            sp[-1] = remainder_of(sp[-1], sp[0]);
            break;
        case ISHL:
            sp--;
            sp[-1] = (int32_t)((uint32_t)sp[-1] << (sp[0] & 31));
            break;
        case ISHR:
            sp--;
            sp[-1] >>= sp[0] & 31;
            break;
        case IAND:
            sp--;
            sp[-1] &= sp[0];
            break;
        case IOR:
            sp--;
            sp[-1] |= sp[0];
            break;
        case IXOR:
            sp--;
            sp[-1] ^= sp[0];
            break;
        case LMUL: {
            const uint64_t b = (uint64_t)pop_long();
            const uint64_t a = (uint64_t)pop_long();
            push_long((int64_t)(a * b));
            break;
        }
        case LSHR: {
            const uint8_t by = pop() & 63;
            push_long(pop_long() >> by);
            break;
        }
        case IINC: {
            const uint8_t local = take();
            const int8_t by = (int8_t)take();
            locals[local] = (int32_t)((uint32_t)locals[local] + (uint32_t)by);
            break;
        }
        case I2L:
            push_long(pop());
            break;
        case L2I:
            push((int32_t)(uint32_t)pop_long());
            break;
        case I2B:
            sp[-1] = (int8_t)sp[-1];
            break;
        case I2S:
            sp[-1] = (int16_t)sp[-1];
            break;
        case IFEQ:
        case IFNE:
        case IFLT:
        case IFGE:
        case IFGT:
        case IFLE: {
            const int32_t a = pop();
            jump_if(is_true(opcode, a, 0));
            break;
        }
        case IF_ICMPEQ:
        case IF_ICMPNE:
        case IF_ICMPLT:
        case IF_ICMPGE:
        case IF_ICMPGT:
        case IF_ICMPLE:
            sp -= 2;
            jump_if(is_true((uint8_t)(opcode - (IF_ICMPEQ - IFEQ)), sp[0], sp[1]));
            break;
        case IF_ACMPEQ:
        case IF_ACMPNE:
            sp -= 2;
            jump_if((sp[0] == sp[1]) == (opcode == IF_ACMPEQ));
            break;
        case IFNULL:
        case IFNONNULL: {
            const int32_t a = pop();
            jump_if((a == 0) == (opcode == IFNULL));
            break;
        }
        case GOTO:
            jump_if(1);
            break;
        case IRETURN:
        case ARETURN: {
            const int32_t value = sp[-1];
            const uint8_t goes_on = leave();
            push(value);
            if (!goes_on)
                return;
            break;
        }
        case RETURN:
            if (!leave())
                return;
            break;
        case GETSTATIC: {
            const uint8_t kind = take();
            push(load(statics + take(), kind));
            break;
        }
        case PUTSTATIC: {
            const uint8_t kind = take();
            uint8_t *to = statics + take();
            store(to, kind, pop());
            break;
        }
        case GETFIELD: {
            const uint8_t kind = take();
            const uint8_t place = take();
            sp[-1] = load(object(sp[-1]) + place, kind);
            break;
        }
        case PUTFIELD: {
            const uint8_t kind = take();
            const uint8_t place = take();
            sp -= 2;
            store(object(sp[0]) + place, kind, sp[1]);
            break;
        }
        case INVOKEVIRTUAL: {
            const uint8_t arguments = take();
            const uint8_t place = take();
            const uint8_t number = *object(sp[-arguments]);
            const uint16_t vtable = PROGRAM_WORD(program_classes[number].vtable);
            invoke(PROGRAM_WORD(program_vtables[vtable + place]));
            break;
        }
        case INVOKESPECIAL: {
            const uint16_t number = take2();
            object(sp[-PROGRAM_BYTE(program_methods[number].arguments)]);
            invoke(number);
            break;
        }
        case INVOKESTATIC:
            invoke(take2());
            break;
        case INVOKEINTERFACE: {
            const uint16_t selector = take2();
            take2();
            call_selected(selector);
            break;
        }
        case NEW:
            push(vm_new((uint8_t)take2()));
            break;
        case NEWARRAY: {
            /* boolean, char, float, double, byte, short, int, long: 4 to 11 */
            const uint8_t type = take();
            push(new_array(type == 5    ? KIND_CHAR
                           : type == 9  ? KIND_SHORT
                           : type == 10 ? KIND_INT
                                        : KIND_BYTE,
                           pop()));
            break;
        }
        case ANEWARRAY:
            take2();
            push(new_array(KIND_REF, pop()));
            break;
        case ARRAYLENGTH:
            sp[-1] = length_of(object(sp[-1]));
            break;
        case CHECKCAST:
            check_cast((uint8_t)take2());
            break;
        case NEW_INITIALISED: {
            const uint8_t number = (uint8_t)take2();
            initialise(number);
            push(vm_new(number));
            break;
        }
        default:
            stop(PROGRAM_TEXT("an opcode that is none"));
        }
    }
}

void vm_start(void)
{
    memset(heap, 0, sizeof(heap));
    memset(statics, 0, sizeof(statics));
    memset(is_initialised, 0, sizeof(is_initialised));
    heap_end = HEADER_BYTES; /* 0 is null */
    sp = locals = saved = stack;
    stack_most = 0;
}

int32_t vm_call(uint16_t method, const int32_t *arguments, uint8_t count)
{
    int32_t *const before = sp;
    for (uint8_t i = 0; i < count; i++)
        push(arguments[i]);
    enter(method, AT_NOWHERE);
    run();
    if (sp == before)
        return 0;
    return pop();
}

uint16_t vm_heap_used(void)
{
    return heap_end;
}

uint16_t vm_stack_used(void)
{
    return stack_most;
}
