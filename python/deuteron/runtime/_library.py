"""A kernel for processors as shared libraries: its code, and a function that launches it in programs without a runtime.

torch puts both into packages of AOTInductor (``kernel.asm["so"]`` and ``kernel.asm["launcher.so"]``). The function is
``run_from_nativert(x, y, z, threads, args, kernel)``: ``args`` has an entry for every parameter of the source, the address
itself for a pointer, else where the value is, and nothing for a constant. All programs run on the thread that calls it. It
throws a ``std::runtime_error`` where the kernel stops itself. The types of the entry are those of ``abi.rs`` of the CPU target.
"""

import os
import tempfile

from .build import _build, compile_so_from_src

_LAUNCHER = """\
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <unistd.h>
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#endif

namespace {

// What every program of a launch can see.
struct Context {
  uint32_t grid[3];
  uint32_t pad;
  void (*print)();
  void (*assert_fail)(const Context*, uint64_t, const char*, uint64_t);
  uint64_t last_level_cache;
  std::string* failure;
};

using Entry = int32_t (*)(const Context*, const uint64_t*, uint64_t, uint64_t, void*);

void assert_fail(const Context* context, uint64_t program, const char* message, uint64_t bytes) {
  if (!context->failure->empty()) return;
  const uint64_t x = context->grid[0], y = context->grid[1];
  *context->failure = "device-side assert in program (" + std::to_string(program % x) + ", " +
                      std::to_string(program / x % y) + ", " + std::to_string(program / x / y) + "): " +
                      std::string(message, bytes);
}

// What this process may count on: 16 MiB a core, as other machines' data lies in the cache of a large processor too.
uint64_t last_level_cache() {
  uint64_t most = 32 << 20;
#if defined(_SC_NPROCESSORS_ONLN) && defined(_SC_LEVEL3_CACHE_SIZE)
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > 0) most = static_cast<uint64_t>(cores) * (16 << 20);
  for (int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(level);
    if (bytes > 0) return std::min(static_cast<uint64_t>(bytes), most);
  }
#endif
  return most;
}

// Memory of a thread, kept between launches.
struct Scratch {
  void* start = nullptr;
  ~Scratch() { std::free(start); }
};

// Systems ask before a process may use tile registers.
bool may_use_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  return syscall(SYS_arch_prctl, 0x1023, 18UL) == 0;
#else
  return false;
#endif
}

}  // namespace

extern "C" __attribute__((visibility("default")))
void run_from_nativert(uint32_t x, uint32_t y, uint32_t z, int, void** args, void* kernel) {
  constexpr uint64_t SCRATCH = @SCRATCH@, KEPT = @KEPT@;
  static const bool has_tiles = @TILES@;
  if (!has_tiles) throw std::runtime_error("kernel @NAME@: this process may not use tile registers (AMX)");
  static const uint64_t cache = last_level_cache();
  thread_local Scratch scratch;
  if (SCRATCH != 0 && scratch.start == nullptr && posix_memalign(&scratch.start, 64, SCRATCH) != 0) throw std::bad_alloc();
  if (KEPT != 0) std::memset(scratch.start, 0, KEPT);
  uint64_t slots[@COUNT@ + 1] = {};
@SLOTS@
  std::string failure;
  const Context context = {{x, y, z}, 0, nullptr, assert_fail, cache, &failure};
  const uint64_t programs = uint64_t{x} * y * z;
  if (programs != 0 && reinterpret_cast<Entry>(kernel)(&context, slots, 0, programs, scratch.start) != 0)
    throw std::runtime_error("kernel @NAME@: " + failure);
}
"""


def code(name, code):
    """The library that defines a kernel, from its object."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{name}.o")
        with open(path, "wb") as file:
            file.write(code)
        # What code generators call besides is in the library for maths and in the compiler's own.
        built = _build(name, path, folder, [], [], ["m"], ["-Wl,-z,defs"])
        with open(built, "rb") as file:
            return file.read()


def launcher(name, params, memory, features, prints):
    """The library that launches a kernel. For each parameter: the bytes of a number, 0 for a constant, `None` for an address."""
    if prints:
        raise NotImplementedError(f"kernel `{name}` prints, which it cannot do in a library without a runtime")
    passed = [(at, size) for at, size in enumerate(params) if size != 0]
    slots = "\n".join(f"  slots[{slot}] = reinterpret_cast<uint64_t>(args[{at}]);" if size is None else
                      f"  std::memcpy(&slots[{slot}], args[{at}], {size});" for slot, (at, size) in enumerate(passed))
    (scratch, kept), tiles = memory, any(feature.startswith("amx") for feature in features)
    facts = {"NAME": name, "COUNT": len(passed), "SLOTS": slots, "SCRATCH": scratch, "KEPT": min(kept, scratch),
             "TILES": "may_use_tiles()" if tiles else "true"}
    source = _LAUNCHER
    for key, value in facts.items():
        source = source.replace(f"@{key}@", str(value))
    with open(compile_so_from_src(source, "launcher", language="c++"), "rb") as file:
        return file.read()
