/* The tracer: a plugin of QEMU's user mode that keeps a shadow stack for each thread
 * of a program and captures places below main.
 *
 * QEMU must translate one instruction at a time (-singlestep): only between two
 * translations are all registers in the CPU's state, where the plugin reads them.
 *
 * Arguments: out=FILE, for lines of JSON; keep=CAPTURES; total=INSTRUCTIONS that the run
 * is expected to take from main on; limit=INSTRUCTIONS after which it is ended;
 * entry=BYTES by which the program's entry lies behind the start of its code, main=BYTES
 * likewise, 0 where it is not known; whole=1 where the outermost function that counts is not main
 * but the program's entry; switch=FROM-TO, in bytes likewise: a function that changes stacks. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { threads = 64, switching = 16 };

/* After a place that could not be captured others are tried only that many instructions later: where one
 * frame of a deep chain is odd, all are, and each costs a copy of the stack. */
enum { pause_after = 100 };

/* startup is how many instructions may be executed before main is. */
enum { startup = 50000000 };

/* start_code bounds the code of _start, which calls __libc_start_main with main as
 * its first argument (LSB: __libc_start_main). */
enum { start_code = 256 };

/* start_c bounds, in instructions, what musl's _start calls: _start_c, which calls __libc_start_main. */
enum { start_c = 64 };

static struct tracer {
	pthread_mutex_t lock;
	const struct cpu *cpu;
	FILE *out;
	struct pick pick;
	uint64_t limit, before, step, odd, resume; /* step: instructions since main was called */
	uint64_t entry_from_start, main_from_start;
	uint64_t entry, main; /* main: where its activation begins, once that has */
	size_t base; /* main's activation, once it is reached */
	bool reached, off, whole;
	struct { uint64_t from, to; } switchers[switching]; /* from the start of the code */
	size_t n_switchers;
	uint64_t signal[threads]; /* the step at which the oldest signal began that a thread is in */
	struct shadow shadows[threads];
} tracer = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* write_images writes the images by the emulator's own mappings. */
static void write_images(const struct tracer *t)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], path[4096];
	uint64_t start, end, offset;
	while (maps && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095[^\n]", &start, &end, &offset, path) == 4 && *path == '/')
			fprintf(t->out, "{\"image\":\"%s\",\"base\":\"%#" PRIx64 "\",\"size\":\"%#" PRIx64 "\",\"offset\":\"%#" PRIx64 "\"}\n",
			        path, (uint64_t)(start - guest_base), end - start, offset);
	}
	if (maps)
		fclose(maps);
}

/* parts is how often in a run the images are written: at its end some may be gone. */
enum { parts = 8 };

/* finish writes what is known at the end. */
static void finish(void)
{
	struct tracer *t = &tracer;
	if (t->off)
		return;
	t->off = true;
	write_images(t);
	fprintf(t->out, "{\"steps\":%" PRIu64 ",\"odd\":%" PRIu64 "}\n", t->step, t->odd);
	fclose(t->out);
}

/* of_start tells whether the call at a place is of the start code, or of what that has called first. */
static bool of_start(const struct tracer *t, const struct shadow *s, uint64_t from)
{
	const struct activation *by = s->n > 1 ? &s->at[s->n - 2] : NULL;
	return from - t->entry < start_code || (by && by->ret - t->entry < start_code && by->ran < start_c);
}

/* find_main looks for the call of __libc_start_main, then for that of main. Where main is known by its
 * symbol, its activation may have begun elsewhere: what aarch64's start code passes to
 * __libc_start_main in a static program is a jump to main. */
static void find_main(struct tracer *t, unsigned vcpu, struct shadow *s, uint64_t from)
{
	uint64_t pc = s->was.pc;
	if (t->whole) {
		t->reached = pc == t->entry;
		return;
	}
	bool calls = s->n > 0 && s->at[s->n - 1].start == pc && s->at[s->n - 1].ran == 0;
	if (t->main) {
		if (s->n > 0 && pc == t->main) {
			t->base = s->n - 1;
			t->main = s->at[t->base].start;
			t->reached = true;
		}
		return;
	}
	if (!calls || !of_start(t, s, from) || pc - t->entry < start_code)
		return;
	const struct abi *abi = &t->cpu->abi;
	uint64_t arg = t->cpu->arg < 0 ? abi->load(s->was.sp + abi->word) : cpu_register(t->cpu, vcpu, t->cpu->arg);
	if (arg - qemu_plugin_start_code() < qemu_plugin_end_code() - qemu_plugin_start_code())
		t->main = arg & ~abi->mode;
}

/* sample captures where that is wanted. Whether millicode (RISC-V's __riscv_save_3, called by
 * jal t0) is an activation of its own is a matter of opinion: call frame information says so,
 * its code is of the function that called it. */
static void sample(struct tracer *t, unsigned vcpu, struct shadow *s, uint64_t from)
{
	size_t base = vcpu == 0 ? t->base : 0;
	if (t->step < t->resume || s->n <= base || s->millicode || (vcpu == 0 && !t->whole && s->at[base].start != t->main))
		return;
	enum kind kind = capture_kind(s, base);
	if (!pick_wants(&t->pick, kind, s->was.pc, t->step))
		return;
	struct place p = { .vcpu = vcpu, .shadow = s, .base = base, .step = t->step, .before = from };
	if (capture_write(t->out, t->cpu, &p, kind))
		pick_took(&t->pick, kind, s->was.pc);
	else {
		t->odd++;
		t->resume = t->step + pause_after;
	}
}

static bool switches(const struct tracer *t, uint64_t pc)
{
	uint64_t at = pc - qemu_plugin_start_code();
	for (size_t i = 0; i < t->n_switchers; i++)
		if (at - t->switchers[i].from < t->switchers[i].to - t->switchers[i].from)
			return true;
	return false;
}

static void step(struct tracer *t, unsigned vcpu, uint64_t pc, unsigned len)
{
	struct shadow *s = &t->shadows[vcpu];
	uint64_t from = s->was.pc;
	struct moment now = { .pc = pc, .len = len, .sp = cpu_register(t->cpu, vcpu, t->cpu->sp) };
	if (t->cpu->lr >= 0)
		now.lr = cpu_register(t->cpu, vcpu, t->cpu->lr);
	if (t->cpu->alt >= 0)
		now.alt = cpu_register(t->cpu, vcpu, t->cpu->alt);
	if (t->cpu->cpsr >= 0)
		now.thumb = cpu_register(t->cpu, vcpu, t->cpu->cpsr) >> 5 & 1;
	now.switches = t->n_switchers > 0 && switches(t, pc);
	bool handles = s->signals > 0;
	if (shadow_step(s, &now) && s->n > 1)
		capture_called(t->cpu, &s->at[s->n - 2], now.sp);
	if (!handles)
		t->signal[vcpu] = t->step;
	if (s->mistaken)
		fprintf(t->out, "{\"mistaken\":%" PRIu64 "}\n", t->signal[vcpu]);
	s->mistaken = false;
	if (!t->reached) {
		find_main(t, vcpu, s, from);
		if (t->before++ < startup)
			return;
		finish();
		_exit(0);
	}
	t->step++;
	if (t->pick.keep > 0) {
		sample(t, vcpu, s, from);
		if (t->step % (t->pick.total / parts + 1) == 0)
			write_images(t);
	}
	if (t->step >= t->limit) {
		finish();
		_exit(0);
	}
}

/* An instruction's length is kept above its address. */
enum { length_shift = 56 };

static void on_insn(unsigned vcpu, void *data)
{
	uint64_t at = (uintptr_t)data;
	if (tracer.off || vcpu >= threads)
		return;
	pthread_mutex_lock(&tracer.lock);
	if (!tracer.off)
		step(&tracer, vcpu, at & (((uint64_t)1 << length_shift) - 1), at >> length_shift);
	pthread_mutex_unlock(&tracer.lock);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	tracer.entry = qemu_plugin_start_code() + tracer.entry_from_start;
	if (tracer.main_from_start && !tracer.reached)
		tracer.main = qemu_plugin_start_code() + tracer.main_from_start;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *in = qemu_plugin_tb_get_insn(tb, i);
		uint64_t at = qemu_plugin_insn_vaddr(in) | (uint64_t)qemu_plugin_insn_size(in) << length_shift;
		qemu_plugin_register_vcpu_insn_exec_cb(in, on_insn, QEMU_PLUGIN_CB_R_REGS, (void *)at);
	}
}

/* marking is the first argument of a system call by which a program marks a place, with the number in
 * the second: prctl with an option that no kernel has ("BSmk"). */
enum { marking = 0x42536d6b };

static void on_syscall(qemu_plugin_id_t id, unsigned vcpu, int64_t call, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                       uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct tracer *t = &tracer;
	(void)id, (void)call, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	if (a1 != marking || vcpu != 0)
		return;
	pthread_mutex_lock(&t->lock);
	if (!t->off && t->reached && t->shadows[0].n > t->base) {
		struct place p = { .shadow = &t->shadows[0], .base = t->base, .step = t->step };
		capture_mark(t->out, &p, a2);
	}
	pthread_mutex_unlock(&t->lock);
}

static void on_thread(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	if (vcpu < threads)
		shadow_reset(&tracer.shadows[vcpu], &tracer.cpu->abi);
}

static void on_end(qemu_plugin_id_t id, void *data)
{
	(void)id, (void)data;
	finish();
}

/* The trace is the parent's. */
static void on_fork(void) { tracer.off = true; }

static void argument(struct tracer *t, char *arg)
{
	char *value = strchr(arg, '=');
	if (!value)
		return;
	*value++ = 0;
	if (strcmp(arg, "out") == 0)
		t->out = fopen(value, "we");
	else if (strcmp(arg, "keep") == 0)
		t->pick.keep = strtoull(value, NULL, 10);
	else if (strcmp(arg, "total") == 0)
		t->pick.total = strtoull(value, NULL, 10);
	else if (strcmp(arg, "limit") == 0)
		t->limit = strtoull(value, NULL, 10);
	else if (strcmp(arg, "entry") == 0)
		t->entry_from_start = strtoull(value, NULL, 10);
	else if (strcmp(arg, "main") == 0)
		t->main_from_start = strtoull(value, NULL, 10);
	else if (strcmp(arg, "whole") == 0)
		t->whole = true;
	else if (strcmp(arg, "switch") == 0 && t->n_switchers < switching &&
	         sscanf(value, "%" SCNu64 "-%" SCNu64, &t->switchers[t->n_switchers].from, &t->switchers[t->n_switchers].to) == 2)
		t->n_switchers++;
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	struct tracer *t = &tracer;
	for (int i = 0; i < argc; i++)
		argument(t, argv[i]);
	t->cpu = cpu_find(info->target_name);
	if (!t->out || !t->cpu) {
		fprintf(stderr, "tracer: no output, or a CPU %s that is not known\n", info->target_name);
		return 1;
	}
	pthread_atfork(NULL, NULL, on_fork);
	qemu_plugin_register_vcpu_init_cb(id, on_thread);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
