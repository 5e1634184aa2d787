/* The boards of QEMU that the tests run on: a console and an end of the emulator, bs_put and bs_end. */
#ifndef BOARD_H
#define BOARD_H

#include "../ports/hooks.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* board_start turns the console on. */
void board_start(void);

#endif
