#!/usr/bin/env python3
"""Records snapshots (JSON Lines) of a program that waits in QEMU's GDB stub.

usage: record.py ARCH PORT NM-OUTPUT STACK-BYTES PLACE...

ARCH is a key of ARCHS. A PLACE is SYMBOL[+STEPS][*TIMES]: the program runs until
it enters SYMBOL for the TIMES-th time, then STEPS instructions further; or "fault":
until a signal stops it. One line is written for each, in order; the stack is captured
from SP on, and what lies at a symbol from a place @SYMBOL:BYTES on.
"""
import base64, json, socket, sys

MIPS = ("zero at v0 v1 a0 a1 a2 a3 t0 t1 t2 t3 t4 t5 t6 t7 s0 s1 s2 s3 s4 s5 s6 s7 t8 t9 k0 k1 gp sp s8 ra "
        "status lo hi badvaddr cause pc").split()
ARM = ["r%d" % i for i in range(13)] + ["sp", "lr", "pc"]
ARCHS = {  # words of the snapshot, registers in the order of the g packet
    "mips": ({"arch": "mips", "endian": "big", "abi": "o32"}, MIPS, "sp"),
    "aarch64": ({"arch": "aarch64", "endian": "little"}, ["x%d" % i for i in range(31)] + ["sp", "pc"], "sp"),
    "riscv64": ({"arch": "riscv64", "endian": "little"}, ["x%d" % i for i in range(32)] + ["pc"], "x2"),
    "cortexm": ({"arch": "arm", "endian": "little", "abi": "cortexm"}, ARM, "sp"),
}


class Stub:
    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=20)

    def ask(self, packet):
        self.s.sendall(b"$%s#%02x" % (packet.encode(), sum(packet.encode()) & 255))
        data = b""
        while b"#" not in data or len(data) < data.index(b"#") + 3:
            chunk = self.s.recv(65536)
            if not chunk:
                sys.exit("the stub hung up after " + packet)
            data += chunk
        self.s.sendall(b"+")
        return data[data.index(b"$") + 1:data.index(b"#")].decode()

    def registers(self, words, names):
        raw = bytes.fromhex(self.ask("g").replace("x", "0"))
        size = 8 if words["arch"].endswith("64") else 4
        return {n: int.from_bytes(raw[size * i:size * (i + 1)], words["endian"]) for i, n in enumerate(names)}

    def memory(self, addr, size):
        """What can be read of addr..addr+size, in pieces of 256 bytes."""
        out = b""
        while len(out) < size:
            answer = self.ask("m%x,%x" % (addr + len(out), min(256, size - len(out))))
            if answer.startswith("E") or not answer:
                break
            out += bytes.fromhex(answer)
        return out


def symbols(path):
    rows = (line.split() for line in open(path))
    return {row[2]: int(row[0], 16) & ~1 for row in rows if len(row) == 3 and row[1] in "tTwWB"}


def main():
    words, names, sp = ARCHS[sys.argv[1]]
    stub, table, size = Stub(int(sys.argv[2])), symbols(sys.argv[3]), int(sys.argv[4])
    beside = []
    kind = 2 if sys.argv[1] == "cortexm" else 4
    for place in sys.argv[5:]:
        if place.startswith("@"):
            beside.append(place[1:].split(":"))
            continue
        if place == "fault":
            stub.ask("c")
        else:
            stop(stub, place, table, words, names, kind)
        regs = stub.registers(words, names)
        pieces = [(regs[sp], size)] + [(table[symbol], int(length)) for symbol, length in beside]
        print(json.dumps({**words, "regs": {n: "%#x" % v for n, v in regs.items()},
                          "memory": [{"base": "%#x" % at, "bytes": base64.b64encode(stub.memory(at, n)).decode()}
                                     for at, n in pieces]}))
    stub.s.close()


def stop(stub, place, table, words, names, kind):
    """Lets the program run to a place."""
    where, _, times = place.partition("*")
    symbol, _, steps = where.partition("+")
    addr = table[symbol]
    for _ in range(int(times or 1)):
        stub.ask("Z0,%x,%d" % (addr, kind))
        stub.ask("c")
        stub.ask("z0,%x,%d" % (addr, kind))
        here = stub.registers(words, names)["pc"]
        if here != addr:
            sys.exit("%s: stopped at %#x instead" % (place, here))
        stub.ask("s")
    # The step above left the entry, so that the breakpoint can be set again.
    for _ in range(int(steps or 1) - 1):
        stub.ask("s")


if __name__ == "__main__":
    main()
