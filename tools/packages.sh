# The Debian packages that heed needs, and a function that installs those that are missing. Sourced by ./quickstart,
# ./check and .ci/run.

# To build and run heed. oneDNN is the roofline of `heed bench`; Open MPI is for several ranks, and heed builds without it.
packages_build=(
  g++ cmake ninja-build
  libfmt-dev libhwy-dev nlohmann-json3-dev libtomlplusplus-dev libdnnl-dev
  pkg-config libsentencepiece-dev libicu-dev zlib1g-dev libboost1.81-dev libssl-dev libopenmpi-dev openmpi-bin
)
# To build and run its tests and benchmarks. PyTorch is the reference that results are compared with; without OpenBLAS it
# multiplies with a BLAS that is fifty times slower. pybind11 is for the Python module, patchelf for its wheel, dpkg-dev
# and file for Debian packages; iproute2 makes the links of bench/two_hosts, and openssl certificates.
packages_test=(
  clang-format
  libgtest-dev libgmock-dev libbenchmark-dev
  python3 python3-numpy python3-torch libopenblas0-openmp
  pybind11-dev python3-dev python3-venv patchelf binutils dpkg-dev file
  iproute2 openssl
)
# For the linter, the syntax of scripts, the sanitizers and the fuzzers, which only CI runs every time; Python's type
# hints and notebooks, whose tests are left out without. mold links the many programs of tests in less time.
packages_lint=(
  clang-tidy nodejs clang libclang-rt-dev mold
  mypy python3-matplotlib jupyter-nbconvert python3-ipykernel
)
# To cross-compile for 64-bit ARM and to run that; tools/arm64_sysroot fetches the libraries.
packages_arm64=(g++-aarch64-linux-gnu qemu-user)
# Nothing installs these. Where they are there, tests of packages, manual pages, completion, the server and of other
# languages do more: lintian debootstrap mandoc zsh fish golang-go rustc chromium nginx-light

# need_packages PACKAGE...: installs what is missing, as root or through sudo; silent when nothing is.
need_packages() {
  local package missing=() as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "heed: this is not a Debian system; it must have the equivalents of these packages: $*" >&2
    return 0
  fi
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "heed: packages are missing, and this user is not root and has no sudo; as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  step "installing ${missing[*]}" install_packages
}

install_packages() {
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}
