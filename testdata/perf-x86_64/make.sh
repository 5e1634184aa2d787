#!/usr/bin/env bash
# Builds the program, naked and with symbols, and records it in a root of its own, so that the recording names the file as a device
# would. What the recording's header says of the machine is taken out. Run as root on x86-64 Linux. Debian 12: gcc, linux-perf.
set -euo pipefail
cd "$(dirname "$0")"
gcc -O2 -nostdlib -static -fno-pie -no-pie -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-stack-protector \
	-fno-optimize-sibling-calls -ffile-prefix-map="$PWD"=. -o profile.sym profile.c
mkdir -p root
strip -o root/profile profile.sym
perf record -z -e cpu-clock:u -c 4000000 --call-graph dwarf,1024 -o perf.data chroot root /profile
python3 - <<'PY'
import struct
keep = {2, 4, 6, 12, 27}  # build IDs, release, processor, events, compression
data = bytearray(open("perf.data", "rb").read())
data_off, data_size = struct.unpack_from("<QQ", data, 40)
flags = int.from_bytes(data[72:104], "little")
bits = [b for b in range(256) if flags >> b & 1]
sections = [struct.unpack_from("<QQ", data, data_off + data_size + 16 * i) for i in range(len(bits))]
kept = [(b, bytes(data[o:o + n])) for b, (o, n) in zip(bits, sections) if b in keep]
out = data[:data_off + data_size]
at = len(out) + 16 * len(kept)
for _, body in kept:
    out += struct.pack("<QQ", at, len(body))
    at += len(body)
out += b"".join(body for _, body in kept)
out[72:104] = sum(1 << b for b, _ in kept).to_bytes(32, "little")
open("perf.data", "wb").write(out)
PY
