/* See interpreter.h. */
#include "interpreter.h"

#include "memory.h"

#include <stddef.h>
#include <string.h>

/* A class. */
struct program_class {
    uint8_t superclass;              /* 255: none */
    uint8_t object_bytes;            /* of an object, with its header */
    uint8_t interface_methods;       /* number of its rows in program_interface_methods */
    uint16_t vtable;                 /* index of its first row in program_vtables */
    uint16_t first_interface_method; /* index of its first row in program_interface_methods */
    uint16_t initialiser;            /* a method; 0xffff: none */
};

/* A method. Sizes are in slots of the stack. */
struct program_method {
    uint16_t offset;   /* in the image; from PROGRAM_NATIVE on: a native method */
    uint8_t arguments;
    uint8_t locals;    /* with the arguments */
    uint8_t room;      /* needed behind the arguments */
};

/* The method of a class that implements a method of an interface. */
struct program_interface_method {
    uint8_t selector;
    uint16_t method;
};

#define PROGRAM_NATIVE 0xff00u
#define PROGRAM_NOWHERE 0xffffu
#define PROGRAM_TABLES
#include "program.h"

/* Kinds of fields and of array elements, numbered as in specialize.py. */
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
    NEW_INITIALISED = 203, /* added by specialize.py: NEW of a class that has an initialiser */
};

/* The header of an object begins with the number of its class, the header of an array with ARRAY
 * plus the kind of its elements. The length of an array follows its header. */
#define HEADER_BYTES 2
#define ARRAY_BYTES 4
#define ARRAY 0x80

static uint8_t heap[VM_HEAP_BYTES];
static uint8_t statics[PROGRAM_STATIC_BYTES];
static uint8_t is_initialised[(PROGRAM_CLASSES + 7) / 8];
static uint16_t heap_end; /* end of the used part */
static int32_t stack[VM_STACK_SLOTS];
static int32_t *sp;           /* the slot after the topmost one in use */
static int32_t *locals;       /* of the running method */
static int32_t *saved_frame;  /* the slot that restores the caller's frame */
static uint16_t stack_most_slots; /* the most that were in use */

/* The content of that slot: the offset where the caller continues, and the distances in slots from
 * its `locals` and `saved_frame` to those of the running method. */
#define SAVED(return_offset, locals_distance, saved_distance)                                    \
    ((int32_t)((uint32_t)(return_offset) | (uint32_t)(uint8_t)(locals_distance) << 16 |          \
               (uint32_t)(uint8_t)(saved_distance) << 24))
/* Return offset of a method that run() was called for: run() ends when the method returns. */
#define NO_RETURN 0xffffu

static void run(void);

__attribute__((noreturn)) static void stop(const char *reason)
{
    vm_stop(reason, code_tell());
}

static inline uint8_t fetch_byte(void)
{
    AVR_JOB(read);
    const int byte = code_byte();
#ifndef MEMORY_IN_PLACE
    if (byte < 0)
        stop(PROGRAM_TEXT("the pager cannot read the next byte"));
#endif
    AVR_JOB(program);
    REPORT_CODE_BYTE((uint8_t)byte);
    return (uint8_t)byte;
}

static inline uint16_t fetch_short(void)
{
    const uint8_t high = fetch_byte();
    return (uint16_t)(high << 8 | fetch_byte());
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

/* Objects and arrays in the heap. */

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

/* Returns the binary logarithm of an element's size in bytes. */
static uint8_t element_shift(uint8_t kind)
{
    return kind == KIND_BYTE ? 0 : kind == KIND_INT ? 2 : 1;
}

static vm_ref new_array(uint8_t kind, int32_t length)
{
    const uint8_t shift = element_shift(kind);
    const uint16_t count = (uint16_t)length;
    vm_ref array;
    if (length < 0)
        stop(PROGRAM_TEXT("an array's length is negative"));
    if (length > VM_HEAP_BYTES >> shift)
        stop(PROGRAM_TEXT("the heap is full"));
    array = allocate(ARRAY | kind, (uint16_t)(ARRAY_BYTES + (count << shift)));
    memcpy(heap + array + HEADER_BYTES, &count, sizeof(count));
    return array;
}

/* Pops an index and an array, and returns the address of that element. */
static uint8_t *element(uint8_t kind)
{
    const int32_t index = pop();
    uint8_t *array = object(pop());
    if (index < 0 || index >= length_of(array))
        stop(PROGRAM_TEXT("an index is outside of its array"));
    return array + ARRAY_BYTES + ((uint16_t)index << element_shift(kind));
}

uint8_t *vm_bytes(vm_ref array, uint16_t *length)
{
    uint8_t *address = object(array);
    *length = length_of(address);
    return address + ARRAY_BYTES;
}

vm_ref vm_field_ref(vm_ref object_ref, uint8_t offset)
{
    return (vm_ref)load(object(object_ref) + offset, KIND_REF);
}

/* Calls of methods. */

/* Pushes a method's frame and jumps to its code. It will return to `return_offset`. */
static void enter(uint16_t number, uint16_t return_offset)
{
    const struct program_method *method = &program_methods[number];
    const uint16_t offset = PROGRAM_WORD(method->offset);
    int32_t *const caller_locals = locals, *const caller_saved = saved_frame;
    const uint16_t needed_slots = (uint16_t)(sp - stack) + PROGRAM_BYTE(method->room);
    if (needed_slots > VM_STACK_SLOTS)
        stop(PROGRAM_TEXT("the stack is full"));
    if (needed_slots > stack_most_slots)
        stack_most_slots = needed_slots;
    locals = sp - PROGRAM_BYTE(method->arguments);
    saved_frame = locals + PROGRAM_BYTE(method->locals);
    *saved_frame = SAVED(return_offset, locals - caller_locals, saved_frame - caller_saved);
    sp = saved_frame + 1;
    code_jump(offset);
}

/* Enters a method, or runs a native one. */
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
    /* Natives 0 and 3 return nothing, as their descriptors in NATIVES of specialize.py end in V. */
    if ((uint8_t)offset != 0 && (uint8_t)offset != 3)
        sp++;
}

/* Pops the running method's frame and jumps back to its caller. Returns 0 if the method was entered
 * with NO_RETURN, so that this run() ends; else 1. */
static uint8_t leave(void)
{
    const uint32_t caller = (uint32_t)*saved_frame;
    sp = locals;
    locals -= (uint8_t)(caller >> 16);
    saved_frame -= (uint8_t)(caller >> 24);
    if ((uint16_t)caller == NO_RETURN)
        return 0;
    code_jump((uint16_t)caller);
    return 1;
}

/* Runs a class's initialiser unless it has run. */
static void initialise(uint8_t number)
{
    const uint8_t bit = (uint8_t)(1 << (number & 7));
    uint16_t return_offset;
    if (is_initialised[number >> 3] & bit)
        return;
    is_initialised[number >> 3] |= bit;
    return_offset = code_tell();
    enter(PROGRAM_WORD(program_classes[number].initialiser), NO_RETURN);
    run();
    code_jump(return_offset);
}

/* Calls a method of an interface, which is numbered by its selector. */
static void invoke_interface(uint16_t selector)
{
    const uint8_t arguments = PROGRAM_BYTE(program_selector_arguments[selector]);
    const uint8_t number = *object(sp[-arguments]);
    uint16_t row = PROGRAM_WORD(program_classes[number].first_interface_method);
    uint8_t rows = PROGRAM_BYTE(program_classes[number].interface_methods);
    for (; rows; rows--, row++)
        if (PROGRAM_BYTE(program_interface_methods[row].selector) == selector) {
            invoke(PROGRAM_WORD(program_interface_methods[row].method));
            return;
        }
    stop(PROGRAM_TEXT("a class does not implement a method of an interface"));
}

/* Checks that the topmost object is null, or of a class or of one of its subclasses. */
static void check_cast(uint8_t to)
{
    uint8_t number;
    if (!sp[-1])
        return;
    number = *object(sp[-1]);
    while (number != to) {
        if (number >= PROGRAM_CLASSES)
            stop(PROGRAM_TEXT("an object is of another class"));
        number = PROGRAM_BYTE(program_classes[number].superclass);
    }
}

/* Arithmetic, which wraps on overflow. */

static int32_t divide(int32_t a, int32_t b)
{
    if (b == 0)
        stop(PROGRAM_TEXT("a number is divided by 0"));
    return b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

static int32_t remainder_of(int32_t a, int32_t b)
{
    if (b == 0)
        stop(PROGRAM_TEXT("a number is divided by 0"));
    return b == -1 ? 0 : a % b;
}

/* Evaluates the condition of an opcode from IFEQ to IFLE. */
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

/* Jumps if the condition is true. The distance is fetched in any case, as a part of the instruction. */
static inline void jump_if(int condition)
{
    const uint16_t distance = fetch_short();
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

/* Interprets until the method returns that was last entered with NO_RETURN. */
static void run(void)
{
    for (;;) {
        const uint8_t opcode = fetch_byte();
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
            push((int8_t)fetch_byte());
            break;
        case SIPUSH:
            push((int16_t)fetch_short());
            break;
        case LDC:
            push(PROGRAM_INT(program_constants[fetch_byte()]));
            break;
        case ILOAD:
        case ALOAD:
            push(locals[fetch_byte()]);
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
            const uint8_t local = fetch_byte();
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
            const uint8_t local = fetch_byte();
            const int8_t by = (int8_t)fetch_byte();
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
            const uint8_t continues = leave();
            push(value);
            if (!continues)
                return;
            break;
        }
        case RETURN:
            if (!leave())
                return;
            break;
        case GETSTATIC: {
            const uint8_t kind = fetch_byte();
            push(load(statics + fetch_byte(), kind));
            break;
        }
        case PUTSTATIC: {
            const uint8_t kind = fetch_byte();
            uint8_t *to = statics + fetch_byte();
            store(to, kind, pop());
            break;
        }
        case GETFIELD: {
            const uint8_t kind = fetch_byte();
            const uint8_t offset = fetch_byte();
            sp[-1] = load(object(sp[-1]) + offset, kind);
            break;
        }
        case PUTFIELD: {
            const uint8_t kind = fetch_byte();
            const uint8_t offset = fetch_byte();
            sp -= 2;
            store(object(sp[0]) + offset, kind, sp[1]);
            break;
        }
        case INVOKEVIRTUAL: {
            const uint8_t arguments = fetch_byte();
            const uint8_t index = fetch_byte();
            const uint8_t number = *object(sp[-arguments]);
            const uint16_t vtable = PROGRAM_WORD(program_classes[number].vtable);
            invoke(PROGRAM_WORD(program_vtables[vtable + index]));
            break;
        }
        case INVOKESPECIAL: {
            const uint16_t number = fetch_short();
            object(sp[-PROGRAM_BYTE(program_methods[number].arguments)]);
            invoke(number);
            break;
        }
        case INVOKESTATIC:
            invoke(fetch_short());
            break;
        case INVOKEINTERFACE: {
            const uint16_t selector = fetch_short();
            fetch_short();
            invoke_interface(selector);
            break;
        }
        case NEW:
            push(vm_new((uint8_t)fetch_short()));
            break;
        case NEWARRAY: {
            /* Types 4 to 11 are boolean, char, float, double, byte, short, int and long. */
            const uint8_t type = fetch_byte();
            push(new_array(type == 5    ? KIND_CHAR
                           : type == 9  ? KIND_SHORT
                           : type == 10 ? KIND_INT
                                        : KIND_BYTE,
                           pop()));
            break;
        }
        case ANEWARRAY:
            fetch_short();
            push(new_array(KIND_REF, pop()));
            break;
        case ARRAYLENGTH:
            sp[-1] = length_of(object(sp[-1]));
            break;
        case CHECKCAST:
            check_cast((uint8_t)fetch_short());
            break;
        case NEW_INITIALISED: {
            const uint8_t number = (uint8_t)fetch_short();
            initialise(number);
            push(vm_new(number));
            break;
        }
        default:
            stop(PROGRAM_TEXT("an opcode is unknown"));
        }
    }
}

void vm_start(void)
{
    memset(heap, 0, sizeof(heap));
    memset(statics, 0, sizeof(statics));
    memset(is_initialised, 0, sizeof(is_initialised));
    heap_end = HEADER_BYTES; /* 0 is null */
    sp = locals = saved_frame = stack;
    stack_most_slots = 0;
}

int32_t vm_call(uint16_t method, const int32_t *arguments, uint8_t count)
{
    int32_t *const sp_before = sp;
    for (uint8_t i = 0; i < count; i++)
        push(arguments[i]);
    enter(method, NO_RETURN);
    run();
    if (sp == sp_before)
        return 0;
    return pop();
}

uint16_t vm_heap_used(void)
{
    return heap_end;
}

uint16_t vm_stack_used(void)
{
    return stack_most_slots;
}
