/*
 * Functions of the C library that are compiled into a library of kernels, in the place of the
 * machine's. What memcpy makes of memory that overlaps, in what order qsort compares and what it makes
 * of equal elements is the business of each C library and even of each processor: a kernel that looks
 * would be another one for its user than for the judge.
 */
#define MONKEYS_OWN __attribute__((visibility("hidden")))
MONKEYS_OWN void *__wrap_memcpy(void *to, const void *from, unsigned long size)
{
    return __builtin_memmove(to, from, size);
}

MONKEYS_OWN int __wrap_memcmp(const void *a, const void *b, unsigned long size)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    unsigned long i = 0;

    while (i < size && x[i] == y[i])
        i++;
    return i < size ? x[i] - y[i] : 0;
}

/* The rest is there for a text that names one of them, behind an allocator. */

/* Merges neighbours, from the front: equal elements stay in their order. */
MONKEYS_OWN void __wrap_qsort(void *items, unsigned long count, unsigned long size,
                              int (*order)(const void *, const void *))
{
    char *from = (char *)items, *to, *spare, *was;
    unsigned long bytes, width, low, middle, end, left, right, at;

    if (__builtin_mul_overflow(count, size, &bytes) || !(spare = (char *)monkeys_block(0, bytes, 0)))
        __builtin_abort();
    to = spare;
    for (width = size; width < bytes; width *= 2) {
        for (low = 0; low < bytes; low = end) {
            middle = bytes - low > width ? low + width : bytes;
            end = bytes - middle > width ? middle + width : bytes;
            left = low;
            right = middle;
            for (at = low; at < end; at += size)
                if (right == end || (left < middle && order(from + left, from + right) <= 0)) {
                    __builtin_memcpy(to + at, from + left, size);
                    left += size;
                } else {
                    __builtin_memcpy(to + at, from + right, size);
                    right += size;
                }
        }
        was = from;
        from = to;
        to = was;
    }
    if (from != (char *)items)
        __builtin_memcpy(items, from, bytes);
    __wrap_free(spare);
}

MONKEYS_OWN void *__wrap_bsearch(const void *key, const void *items, unsigned long count, unsigned long size,
                                 int (*order)(const void *, const void *))
{
    const char *low = (const char *)items, *middle;
    int found;

    while (count) {
        middle = low + count / 2 * size;
        found = order(key, middle);
        if (found == 0)
            return (void *)middle;
        if (found > 0)
            low = middle + size;
        count = found > 0 ? (count - 1) / 2 : count / 2;
    }
    return 0;
}

MONKEYS_OWN int __wrap_posix_memalign(void **at, unsigned long to, unsigned long size)
{
    if (to % sizeof(void *) || !to || (to & (to - 1)))
        return 22; /* EINVAL */
    *at = monkeys_block(to, size, 0xff);
    return *at ? 0 : 12; /* ENOMEM */
}

MONKEYS_OWN __attribute__((noreturn)) void __wrap_exit(int status)
{
    (void)status;
    __builtin_abort();
}

MONKEYS_OWN __attribute__((noreturn)) void __wrap___assert_fail(const char *said, const char *file,
                                                                unsigned int line, const char *function)
{
    (void)said, (void)file, (void)line, (void)function;
    __builtin_abort();
}
