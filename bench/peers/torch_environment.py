"""What surrounds PyTorch where it is at its best on the CPU: the BLAS's kernels, the OpenMP runtime, the width of ATen's
own kernels and the allocator's habits. Each choice says why. Shared by the programs beside it.
"""

import argparse
import ctypes
import json
import os
import re
import resource
import sys

LLVM_OPENMP = (
    "/usr/lib/x86_64-linux-gnu/libomp.so.5",
    "/usr/lib/llvm-14/lib/libomp.so.5",
)

# In order of preference: OpenBLAS's own threads compete for the cores with OpenMP's, which spin
# for a while after each of ATen's loops; with OpenMP underneath both, there is one set of threads.
OPENBLAS_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu/openblas-openmp",
    "/usr/lib/x86_64-linux-gnu/openblas-pthread",
)

# Every large tensor would otherwise be mapped, faulted in page by page and unmapped again each time
# it is used. Kept on the heap, on huge pages, it makes a step up to a fifth faster, for up to a
# quarter more memory.
KEEP_FREED_MEMORY = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1099511627776:glibc.malloc.hugetlb=1"


class OneLineParser(argparse.ArgumentParser):
    def error(self, message):
        fail(message)


def fail(message):
    print(f"{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr)
    sys.exit(2)


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, found {text}")
    return value


def add_options(parser):
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--threads", type=count, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--openmp", choices=("auto", "gnu", "llvm"), default="auto")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


# What must be settled before torch is loaded.


def cpu_flags():
    with open("/proc/cpuinfo") as cpuinfo:
        line = next((line for line in cpuinfo if line.startswith("flags")), "")
    return set(line.split())


def openblas_core(flags):
    # OpenBLAS 0.3.21 takes a CPU younger than itself for an old one (an Emerald Rapids for a
    # Prescott, a quarter of the speed or less), and a pinned old core costs up to half. The
    # instructions that the CPU has say which kernels are best.
    if "avx512_bf16" in flags:
        return "Cooperlake"
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return "SkylakeX"
    return None


def choose_kernels(environment):
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        environment.pop(name, None)
    core = openblas_core(cpu_flags())
    if core:
        environment["OPENBLAS_CORETYPE"] = core
        # PyTorch 1.13 stops at AVX2 unless asked: its softmax takes up to three times as long there.
        environment["ATEN_CPU_CAPABILITY"] = "avx512"


def choose_blas(environment):
    folder = next((folder for folder in OPENBLAS_FOLDERS if os.path.isdir(folder)), None)
    folders = [path for path in environment.get("LD_LIBRARY_PATH", "").split(":") if path]
    if folder and folder not in folders:
        environment["LD_LIBRARY_PATH"] = ":".join(folders + [folder])


def choose_openmp(environment, choice):
    # `auto` is LLVM's for every shape. At best GNU's came within 3% of it on tiny and 7% on small, with
    # OpenBLAS on OpenMP too; with OpenBLAS on threads of its own LLVM's was 1.3 to 1.7 times as fast
    # there, and on gpt-char GNU's has fallen to a tenth: its barriers lose whole time slices when a
    # core is shared.
    library = next((path for path in LLVM_OPENMP if os.path.exists(path)), None)
    if choice == "llvm" and library is None:
        fail(f"--openmp llvm: expected {' or '.join(LLVM_OPENMP)}, found neither (package libomp5-14)")
    preloaded = [path for path in re.split("[ :]", environment.pop("LD_PRELOAD", "")) if path and "libomp" not in path]
    if library and choice != "gnu":
        preloaded.insert(0, library)
        # Its threads otherwise spin for 200 ms after each loop, on the core that OpenBLAS's need.
        environment["KMP_BLOCKTIME"] = "1"
    if preloaded:
        environment["LD_PRELOAD"] = ":".join(preloaded)


def settle_environment(arguments):
    """Starts the program again where its environment is not the one that PyTorch is fastest in."""
    environment = dict(os.environ)
    choose_kernels(environment)
    choose_blas(environment)
    choose_openmp(environment, arguments.openmp)
    environment["GLIBC_TUNABLES"] = KEEP_FREED_MEMORY
    environment["OMP_NUM_THREADS"] = environment["OPENBLAS_NUM_THREADS"] = str(arguments.threads)
    if environment != dict(os.environ):
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, environment)


# What was loaded: the libraries that decide a figure are reported with it.


def loaded_libraries():
    with open("/proc/self/maps") as maps:
        return {fields[5] for fields in (line.split() for line in maps) if len(fields) == 6 and ".so" in fields[5]}


def blas_in_use():
    libraries = loaded_libraries()
    openblas = next((path for path in libraries if "libopenblas" in path), None)
    if openblas:
        library = ctypes.CDLL(openblas)
        library.openblas_get_config.restype = ctypes.c_char_p
        threads = {0: "one thread", 1: "own threads", 2: "OpenMP"}[library.openblas_get_parallel()]
        words = library.openblas_get_config().decode().split()
        return f"{words[0]} {words[1]} {words[-2]}, {threads}"
    return next((path for path in libraries if "libblas" in path or "libmkl" in path), "unknown")


def openmp_in_use():
    return "llvm" if any("/libomp" in path for path in loaded_libraries()) else "gnu"


def warn_of_reference_blas(blas):
    if "/blas/libblas.so" in os.path.realpath(blas):
        print(
            f"{os.path.basename(sys.argv[0])}: warning: PyTorch multiplies f32 with the reference BLAS, some fifty times slower "
            "than it could; install libopenblas0-openmp for a fair figure",
            file=sys.stderr,
        )


def prepare(torch, arguments):
    """Readies PyTorch, and returns what a figure must name."""
    # Left alone, PyTorch may count one core where there are two.
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    blas = blas_in_use()
    warn_of_reference_blas(blas)
    return {
        "precision": arguments.precision,
        "threads": arguments.threads,
        "torch_version": torch.__version__,
        "blas": blas,
        "openmp": openmp_in_use(),
    }


def peak_memory_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def print_setup(result):
    print(f"set-up      PyTorch {result['torch_version']}, {result['precision']}, {result['threads']} threads")
    print(f"libraries   BLAS {result['blas']}; OpenMP {result['openmp']}")
    print(f"parameters  {result['parameters']:,}")
    print(f"memory      {result['peak_memory_bytes'] / 2**20:,.0f} MiB at its peak")


def run(arguments, measure, print_report):
    """Measures where PyTorch is at its best, and prints the result."""
    settle_environment(arguments)
    try:
        result = measure(arguments)
    except ModuleNotFoundError as missing:
        fail(f"{missing} (package python3-torch, run with /usr/bin/python3)")
    if arguments.json:
        print(json.dumps(result))
    else:
        print_setup(result)
        print_report(result)
