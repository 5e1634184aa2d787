"""Backsight inside GDB, for programs whose binaries tell GDB nothing.

    (gdb) source backsight.py
    (gdb) backsight                    the backtrace of the program being debugged, by Backsight
    (gdb) backsight --explain          with any flags of `backsight bt`
    (gdb) set backsight-unwinder on    bt, up, finish go by Backsight's rules, too

The program backsight is looked for in PATH, or where the variable BACKSIGHT of the environment says.
A core file is handed over as it is, with GDB's `set sysroot` and `set debug-file-directory`. Of a live process or a remote target, the selected thread's
registers and the stack above its stack pointer are. Needs GDB 11 or later with Python.
"""

import base64
import json
import os
import re
import struct
import subprocess

import gdb
import gdb.unwinder

PROGRAM = os.environ.get("BACKSIGHT", "backsight")
STACK = 1 << 20  # bytes of a live stack that are handed over


def run(args, stdin=None):
    """What backsight prints; what it says on standard error goes to GDB's user."""
    try:
        done = subprocess.run([PROGRAM] + args, input=stdin, capture_output=True)
    except OSError as e:
        raise gdb.GdbError("%s: %s (is it in PATH? else set BACKSIGHT)" % (PROGRAM, e.strerror))
    talk = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        raise gdb.GdbError(talk.strip() or "%s failed" % PROGRAM)
    gdb.write(talk, gdb.STDERR)
    return done.stdout.decode(errors="replace")


def executable():
    name = gdb.current_progspace().filename
    if not name:
        raise gdb.GdbError("no executable: give GDB one with `file`")
    return name


def core_file():
    """The path of the core file being debugged, or None."""
    text = gdb.execute("info files", to_string=True)
    m = re.search(r"Local core dump file:\s*\n\s*`(.*)', file type", text)
    return m.group(1) if m else None


def elf(path):
    """The address of an ELF file's section .text, or None, and that of its entry point."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] != b"\x7fELF":
        return None, None
    wide, order = data[4] == 2, ">" if data[5] == 2 else "<"
    word = "Q" if wide else "I"
    entry, _, sections = struct.unpack_from(order + 3 * word, data, 24)
    size, count, names = struct.unpack_from(order + "3H", data, 58 if wide else 46)
    header = order + "II" + 4 * word  # sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size
    try:
        strings = struct.unpack_from(header, data, sections + names * size)[4]
        for i in range(count):
            name, _, _, addr, _, _ = struct.unpack_from(header, data, sections + i * size)
            if data[strings + name:].startswith(b".text\0"):
                return addr, entry
    except struct.error:
        pass  # no section headers, or cut ones
    return None, entry


class Image:
    """A binary of the program being debugged: its path, and by how much it was moved."""

    def __init__(self, path, bias, lo=0, hi=1 << 64):
        self.path, self.bias, self.lo, self.hi = path, bias, lo, hi


def images():
    """The libraries, and last the executable. A position-independent one lies anywhere."""
    found = []
    for line in gdb.execute("info sharedlibrary", to_string=True).splitlines():
        m = re.match(r"(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s+\w+(?: \(\*\))?\s+(.*)", line)
        if not m or not os.path.exists(m.group(3)):
            continue
        text, _ = elf(m.group(3))
        if text is not None:
            lo, hi = int(m.group(1), 16), int(m.group(2), 16)
            found.append(Image(m.group(3), lo - text, lo, hi))
    m = re.search(r"Entry point: (0x[0-9a-f]+)", gdb.execute("info files", to_string=True))
    _, entry = elf(executable())
    return found + [Image(executable(), int(m.group(1), 16) - entry if m and entry is not None else 0)]


def places():
    """GDB's own folders of binaries and debug files, as flags of backsight."""
    flags, root = [], gdb.parameter("sysroot")
    if root and not root.startswith("target:") and root != "/":
        flags += ["--sysroot", root]
    for folder in (gdb.parameter("debug-file-directory") or "").split(os.pathsep):
        if os.path.isdir(folder):
            flags += ["--debug-dir", folder]
    return flags


def registers(frame):
    """All general registers of a frame that are known, by name."""
    regs = {}
    for r in frame.architecture().registers("general"):
        try:
            value = frame.read_register(r.name)
            regs[r.name] = int(value.cast(gdb.lookup_type("unsigned long long"))) & (1 << 8 * value.type.sizeof) - 1
        except (gdb.error, ValueError):
            pass
    return regs


# What captures call the processors that GDB names.
ARCHITECTURES = [
    ("aarch64", "aarch64"), ("armv", "arm"), ("arm", "arm"), ("i386:x86-64", "x86_64"), ("i386", "i386"),
    ("riscv:rv32", "riscv32"), ("riscv", "riscv64"), ("mips", "mips"),
]


def snapshot():
    """The selected thread as a snapshot of Backsight's own form."""
    frame = gdb.newest_frame()
    name = frame.architecture().name()
    arch = next((to for prefix, to in ARCHITECTURES if name.startswith(prefix)), name)
    regs = registers(frame)
    regs.setdefault("pc", frame.pc())
    sp = next((regs[n] for n in ("sp", "rsp", "esp") if n in regs), 0)
    if arch == "mips" and frame.read_register("sp").type.sizeof == 8:
        arch = "mips64"
    base, data = sp, b""
    inferior = gdb.selected_inferior()
    while len(data) < STACK:
        try:
            data += bytes(inferior.read_memory(base + len(data), 4096 - (base + len(data)) % 4096))
        except gdb.MemoryError:
            break
    big = "big endian" in gdb.execute("show endian", to_string=True)
    return json.dumps({
        "arch": arch, "endian": "big" if big else "little",
        "regs": {k: hex(v) for k, v in regs.items()},
        "memory": [{"base": hex(base), "bytes": base64.b64encode(data).decode()}],
        "images": [{"path": i.path, "bias": hex(i.bias)} for i in images()],
    }).encode()


class Backtrace(gdb.Command):
    """Print Backsight's backtrace of the program being debugged. Usage: backsight [FLAGS OF backsight bt]"""

    def __init__(self):
        super().__init__("backsight", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        flags = places() + gdb.string_to_argv(argument)
        core = core_file()
        if core:
            gdb.write(run(["bt", "--exe", executable()] + flags + [core]))
        else:
            gdb.write(run(["bt"] + flags + ["-"], snapshot()))


class Rules:
    """The rules of a binary, from `backsight table --format json`."""

    def __init__(self, path):
        table = json.loads(run(["table", "--format", "json", path]))
        self.rules = table["rules"]
        self.rows = []
        for f in table["functions"]:
            self.rows += [(int(a, 16), rule) for a, rule in f["rows"]]
            self.rows.append((int(f["end"], 16), None))

    def at(self, pc):
        lo, hi = 0, len(self.rows)
        while lo < hi:
            mid = (lo + hi) // 2
            if self.rows[mid][0] <= pc:
                lo = mid + 1
            else:
                hi = mid
        # A function's end and the next one's start may be the same address, in this order.
        rule = self.rows[lo - 1][1] if lo else None
        return None if rule is None else self.rules[rule]


class FrameID:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Unwinder(gdb.unwinder.Unwinder):
    """Unwinds the frames of the executable and its libraries by Backsight's rules."""

    def __init__(self):
        super().__init__("backsight")
        self.tables = {}
        self.images = {}  # of the process or core
        self.returns = set()  # (PC, CFA) of the callers found: they wait for a call

    def image(self, pc):
        """The binary at an address. Libraries come and go with the program."""
        now = (gdb.current_progspace().filename, len(gdb.objfiles()))
        if now not in self.images:
            self.images = {now: images()}
        return next(i for i in self.images[now] if i.lo <= pc < i.hi)

    def __call__(self, frame):
        if not switch.value:
            return None
        if not gdb.current_progspace().filename:
            return None
        pc = self.pc(frame)
        image = self.image(pc)
        if image.path not in self.tables:
            self.tables[image.path] = Rules(image.path)
        waits = (pc, self.sp(frame)) in self.returns
        rule = self.tables[image.path].at(pc - image.bias - (1 if waits else 0))
        if rule is None or "cfa" not in rule:
            return None
        try:
            return self.caller(frame, rule)
        except (gdb.error, KeyError):
            return None

    def caller(self, frame, rule):
        cfa = self.value(frame, rule["cfa"], None)
        ra = self.value(frame, rule["ra"], cfa)
        if cfa is None or ra is None:
            return None
        if frame.architecture().name().startswith(("mips", "arm")):
            ra &= ~1
        info = frame.create_unwind_info(FrameID(gdb.Value(cfa), gdb.Value(self.pc(frame))))
        saved = {"sp": cfa, "pc": ra}
        for name, how in rule.get("regs", {}).items():
            v = self.value(frame, how, cfa)
            if v is not None:
                saved[name] = v
        for name, v in saved.items():
            kind = frame.read_register(name).type
            info.add_saved_register(name, gdb.Value(v & (1 << 8 * kind.sizeof) - 1).cast(kind))
        self.returns.add((ra, cfa))
        return info

    def value(self, frame, how, cfa):
        """One value of the caller; None where it is lost, keeps its place, or is a DWARF expression."""
        if how["kind"] not in ("value", "memory"):
            return None
        base = how.get("base")
        v = how.get("offset", 0)
        if base == "cfa":
            v += cfa
        elif base:
            v += self.register(frame, base)
        if how["kind"] == "value":
            return v & (1 << 64) - 1
        size = frame.read_register("sp").type.sizeof
        v &= (1 << 8 * size) - 1
        data = bytes(gdb.selected_inferior().read_memory(v, size))
        big = "big endian" in gdb.execute("show endian", to_string=True)
        return int.from_bytes(data, "big" if big else "little") + how.get("add", 0)

    def register(self, frame, name):
        v = frame.read_register(name)
        return int(v.cast(gdb.lookup_type("unsigned long long"))) & (1 << 8 * v.type.sizeof) - 1

    def pc(self, frame):
        pc = self.register(frame, "pc")
        return pc & ~1 if frame.architecture().name().startswith(("mips", "arm")) else pc

    def sp(self, frame):
        return self.register(frame, "sp")


class Switch(gdb.Parameter):
    """Whether GDB's own commands unwind by Backsight's rules.

    The rules of a binary are made when they are first needed, which takes some seconds for a
    megabyte of code."""

    set_doc = "Set whether bt, up, down and finish unwind by Backsight's rules."
    show_doc = "Show whether GDB unwinds by Backsight's rules."

    def __init__(self):
        super().__init__("backsight-unwinder", gdb.COMMAND_STACK, gdb.PARAM_BOOLEAN)
        self.value = False

    def get_set_string(self):
        gdb.invalidate_cached_frames()
        return ""

    def get_show_string(self, value):
        return "Unwinding by Backsight's rules is %s." % value


Backtrace()
switch = Switch()
gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
