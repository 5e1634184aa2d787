// usage: libdwfl DIR ROUNDS   Walks the stacks of DIR with elfutils' libdwfl, one
// Dwfl and one set of callbacks for all.
#include "stacks.h"
#include <elfutils/libdwfl.h>

static const struct stack *current;
static uint64_t *out;
static int room, count;

static pid_t next_thread(Dwfl *d, void *arg, void **thread) {
	if (*thread) return 0;
	*thread = (void *)1;
	return 1;
}

static bool memory_read(Dwfl *d, Dwarf_Addr addr, Dwarf_Word *v, void *arg) {
	if (addr - current->base >= current->len || current->len - (addr - current->base) < 8) return false;
	memcpy(v, current->bytes + (addr - current->base), 8);
	return true;
}

static bool set_registers(Dwfl_Thread *t, void *arg) {
	return dwfl_thread_state_registers(t, 0, 17, (const Dwarf_Word *)current->regs);
}

static int frame(Dwfl_Frame *f, void *arg) {
	Dwarf_Addr pc;
	if (count == room || !dwfl_frame_pc(f, &pc, NULL) || !pc) return DWARF_CB_ABORT;
	out[count++] = pc;
	return DWARF_CB_OK;
}

static Dwfl *dwfl;

static int walk(const struct stack *s, uint64_t *pcs, int max) {
	current = s, out = pcs, room = max, count = 0;
	dwfl_getthread_frames(dwfl, 1, frame, NULL);
	return count;
}

int main(int argc, char **argv) {
	static char *debuginfo = "";
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo, .debuginfo_path = &debuginfo};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread, .memory_read = memory_read, .set_initial_registers = set_registers};
	load(argv[1]);
	dwfl = dwfl_begin(&callbacks);
	Elf *elf = NULL;
	for (int i = 0; i < nmaps; i++) {
		Dwfl_Module *m = dwfl_report_elf(dwfl, maps[i].path, maps[i].path, -1, maps[i].base, false);
		GElf_Addr bias;
		if (!m) { fprintf(stderr, "%s: %s\n", maps[i].path, dwfl_errmsg(-1)); return 2; }
		if (!elf) elf = dwfl_module_getelf(m, &bias);
	}
	dwfl_report_end(dwfl, NULL, NULL);
	if (!dwfl_attach_state(dwfl, elf, 1, &threads, NULL)) { fprintf(stderr, "%s\n", dwfl_errmsg(-1)); return 2; }
	measure("libdwfl", walk, atoi(argv[2]));
}
