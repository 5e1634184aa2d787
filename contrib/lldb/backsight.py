"""Backsight inside LLDB, for programs whose binaries tell LLDB nothing.

    (lldb) command script import backsight.py
    (lldb) backsight                   the backtrace of the program being debugged, by Backsight
    (lldb) backsight --explain         with any flags of `backsight bt`
    (lldb) backsight --capture CORE    by a core file, where LLDB is too old to say which one it has

The program backsight is looked for in PATH, or where the variable BACKSIGHT of the environment says.
A core file is handed over as it is, with LLDB's `target.exec-search-paths` and `target.debug-file-search-paths`. Of a live process, the
selected thread's registers and the stack above its stack pointer are. LLDB has no place for unwinders of others: for its
own `bt`, `backsight table --format debug_frame` makes debug files that LLDB reads. Tried with LLDB 14.
"""

import base64
import json
import os
import shlex
import subprocess

import lldb

PROGRAM = os.environ.get("BACKSIGHT", "backsight")
STACK = 1 << 20  # bytes of a live stack that are handed over

# What captures call the processors of LLDB's triples.
ARCHITECTURES = [
    ("aarch64", "aarch64"), ("arm64", "aarch64"), ("arm", "arm"), ("thumb", "arm"), ("x86_64", "x86_64"), ("i386", "i386"),
    ("i686", "i386"), ("riscv32", "riscv32"), ("riscv64", "riscv64"), ("mips64", "mips64"), ("mips", "mips"),
]


def executable(target):
    spec = target.GetExecutable()
    return os.path.join(spec.GetDirectory() or "", spec.GetFilename()) if spec.IsValid() else None


def images(target):
    """The program's binaries that are files here, and by how much each was moved."""
    found = []
    for m in target.module_iter():
        path = os.path.join(m.GetFileSpec().GetDirectory() or "", m.GetFileSpec().GetFilename() or "")
        for s in m.section_iter():
            at = s.GetLoadAddress(target)
            if at != lldb.LLDB_INVALID_ADDRESS and s.GetFileAddress() != lldb.LLDB_INVALID_ADDRESS and os.path.exists(path):
                found.append({"path": path, "bias": hex((at - s.GetFileAddress()) & (1 << 64) - 1)})
                break
    return found


def snapshot(target, frame):
    """The selected thread as a snapshot of Backsight's own form."""
    process, error = frame.GetThread().GetProcess(), lldb.SBError()
    triple = target.GetTriple()
    regs = {"pc": hex(frame.GetPC())}
    for group in frame.GetRegisters():
        if "General" in group.GetName():
            for r in group:
                value = r.GetValueAsUnsigned(error, 0)
                if error.Success() and r.GetByteSize() >= target.GetAddressByteSize():  # not sp, the lower half of esp
                    regs[r.GetName()] = hex(value)
    base, data = frame.GetSP(), b""
    while len(data) < STACK:
        at = base + len(data)
        page = process.ReadMemory(at, 4096 - at % 4096, error)
        if not error.Success():
            break
        data += page
    return json.dumps({
        "arch": next((to for prefix, to in ARCHITECTURES if triple.startswith(prefix)), triple.split("-")[0]),
        "endian": "big" if target.GetByteOrder() == lldb.eByteOrderBig else "little",
        "regs": regs, "memory": [{"base": hex(base), "bytes": base64.b64encode(data).decode()}], "images": images(target),
    }).encode()


def setting(debugger, name):
    """The folders that a setting of LLDB lists."""
    values = debugger.GetInternalVariableValue(name, debugger.GetInstanceName())
    return [v for v in (values.GetStringAtIndex(i) for i in range(values.GetSize())) if os.path.isdir(v)]


def core_file(process, args):
    """The core file, and the flags that are left."""
    if "--capture" in args:
        i = args.index("--capture")
        return args[i + 1] if i + 1 < len(args) else None, args[:i] + args[i + 2:]
    if process.GetPluginName() in ("elf-core", "mach-o-core", "minidump") and hasattr(process, "GetCoreFile"):
        spec = process.GetCoreFile()
        return os.path.join(spec.GetDirectory(), spec.GetFilename()), args
    return None, args


def backsight(debugger, command, context, result, _):
    """Print Backsight's backtrace of the program being debugged. Usage: backsight [--capture CORE] [FLAGS OF backsight bt]"""
    target = context.GetTarget()
    core, args = core_file(context.GetProcess(), shlex.split(command))
    flags = []
    for root in setting(debugger, "target.exec-search-paths"):
        flags += ["--sysroot", root]
    for folder in setting(debugger, "target.debug-file-search-paths"):
        flags += ["--debug-dir", folder]
    stdin = None
    if core:
        if executable(target):
            flags += ["--exe", executable(target)]
        args = args + [core]
    elif context.GetFrame().IsValid():
        args, stdin = args + ["-"], snapshot(target, context.GetFrame())
    else:
        result.SetError("no process and no core file")
        return
    try:
        done = subprocess.run([PROGRAM, "bt"] + flags + args, input=stdin, capture_output=True)
    except OSError as e:
        result.SetError("%s: %s (is it in PATH? else set BACKSIGHT)" % (PROGRAM, e.strerror))
        return
    result.AppendMessage(done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace"))
    if done.returncode not in (0, 1):
        result.SetError("%s gave no backtrace" % PROGRAM)


def __lldb_init_module(debugger, _):
    debugger.HandleCommand("command script add -f %s.backsight backsight" % __name__)
