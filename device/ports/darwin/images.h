/* A program of macOS or iOS that walks its own stack: rules of the table that is linked in, else of compact unwind in place.
 *
 *     void *pcs[64];
 *     int n = bs_frames(&bs_darwin_world, 0, pcs, 64);
 *
 * Compile this folder's C files and backsight.c. No Mac was at hand: compiled for Darwin, and tried on Linux with binaries of Apple's. */
#ifndef BACKSIGHT_DARWIN_IMAGES_H
#define BACKSIGHT_DARWIN_IMAGES_H

#include "compact.h"

extern const struct bs_world bs_darwin_world;

/* A Mach-O image in memory, as far as walks need it. slide is how far it lies above the addresses it was linked to. */
struct bs_darwin_image {
	struct bs_darwin_unwind unwind;
	bs_word slide;
};

/* bs_darwin_image_of reads the load commands of a 64-bit image that was mapped at an address; false: it is none, or has no code. */
int bs_darwin_image_of(const uint8_t *header, struct bs_darwin_image *image);

/* bs_darwin_image_at finds the image that an address lies in. It asks the dynamic linker, which other threads may change
 * meanwhile: an image that is unloaded while its stack is walked is not expected. */
int bs_darwin_image_at(bs_word at, struct bs_darwin_image *image);

#endif
