/* Arrays of variable length, alloca, large frames, complex and 64-bit arithmetic, structures by value. */
#include "lab.h"
#include <alloca.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct four { double at[4][4]; };
static NOINLINE struct four times(struct four a, struct four b) {
	struct four r = {{{0}}};
	for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) for (int k = 0; k < 4; k++) r.at[i][j] += a.at[i][k] * b.at[k][j];
	return r;
}
static NOINLINE struct four power(struct four a, int n) { return n <= 1 ? a : n % 2 ? times(a, power(a, n - 1)) : power(times(a, a), n / 2); }
static NOINLINE double determinant(int n, double (*m)[n]) {
	double copy[n][n], d = 1;
	memcpy(copy, m, sizeof copy);
	for (int i = 0; i < n; i++) {
		if (fabs(copy[i][i]) < 1e-9) return 0;
		d *= copy[i][i];
		for (int j = i + 1; j < n; j++) { double f = copy[j][i] / copy[i][i]; for (int k = i; k < n; k++) copy[j][k] -= f * copy[i][k]; }
	}
	return d;
}
static NOINLINE int split(int n) { char *p = alloca((size_t)(n & 63) + 1); fill(p, n & 63, n); return p[0] + (n & 64 ? ((char *)memset(alloca(32), n, 32))[5] : 0); }
static NOINLINE double complex turned(double complex z, int n) { for (int i = 0; i < n; i++) z = z * z / (1 + cabs(z)); return z; }
static NOINLINE long long ratio(long long a, unsigned long long b) { return a / (long long)(b | 1) + (long long)((unsigned long long)a % (b | 1)); }
static NOINLINE int wide(int n) { char b[70000]; fill(b, sizeof b, n); return b[97 * 3]; }
int main(void) {
	struct four a = {{{1, 2}, {0, 1}, {0, 0, 1}, {1, 0, 0, 1}}};
	double m[5][5];
	for (int i = 0; i < 5; i++) for (int j = 0; j < 5; j++) m[i][j] = (i * 7 + j * 3 + sink) % 11;
	sink += (int)power(a, 9 + sink).at[0][1] + (int)determinant(5, m) + split(77 + sink) + (int)creal(turned(1 + 2 * I, sink)) + (int)ratio(1ll << 40, 77u + (unsigned)sink) + wide(3);
	return 0;
}
