package follow

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
)

// following is a follower of the reports that backsight knows, and the time that it is told.
func following(t testing.TB) (f *Follower, now *time.Time) {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{})
	t.Cleanup(func() { files.Close() })
	env := &input.Env{Files: files, Archs: backsight.CPUs()}
	for _, format := range backsight.Formats() {
		if format.Name == "console" {
			env.Formats = []input.Format{format}
		}
	}
	read := func(text []byte) input.Reports { return env.Formats[0].Reports(t.Context(), text, env) }
	return &Follower{Reports: read, Pause: 250 * time.Millisecond}, new(time.Now())
}

// kernelOops is what a kernel prints, up to where it would go on.
const kernelOops = "Unable to handle kernel paging request at virtual address 00000000\nCPU: 0 PID: 95 Comm: busybox\n" +
	"epc   : 80101234 f+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n"

// hardFault is what a microcontroller prints.
const hardFault = "HardFault: CFSR 00008200 HFSR 40000000 BFAR a0000000\r\n" +
	"R0 00000004 R1 00007eb4 R2 00000002 R3 a0000000\r\nR12 00000000 LR 08000175 PC 0800015c PSR 01000000\r\n" +
	"SP 200029e0\r\n200029e0: 20002a12 00000199 00020000 200003cc\r\n"

// talk has the follower told a line each 100 ms for so long, and returns the first piece and when it came.
func talk(f *Follower, now *time.Time, line string, long time.Duration) (piece []byte, after time.Duration) {
	for after < long {
		after += 100 * time.Millisecond
		*now = now.Add(100 * time.Millisecond)
		if piece = f.Add([]byte(line), *now).Text; len(piece) > 0 {
			return piece, after
		}
	}
	return nil, after
}

// TestFollowTalking: of a device that goes on talking, a report is whole two seconds behind its last line at the latest, and at
// once where its form ends. What is told is the report, once.
func TestFollowTalking(t *testing.T) {
	for _, c := range []struct {
		name, report string
		within       time.Duration
	}{
		{"registers", hardFault, Quiet + 400*time.Millisecond},
		{"kernel", kernelOops, Quiet + 400*time.Millisecond},
		{"device's own line", "backsight: 0x00000014 0x00000024  7158392a38950abbb97706bbeff228116463aacf\n", 400 * time.Millisecond},
	} {
		f, now := following(t)
		if piece, _ := talk(f, now, "tick\n", 10*time.Second); piece != nil {
			t.Errorf("%s: no report, but %q", c.name, piece)
		}
		f.Add([]byte(c.report), *now)
		piece, after := talk(f, now, "tick\n", 10*time.Second)
		if !bytes.Contains(piece, []byte(c.report)) || after > c.within {
			t.Errorf("%s: after %v %q", c.name, after, piece)
		}
		if piece, _ := talk(f, now, "tick\n", 10*time.Second); piece != nil {
			t.Errorf("%s: a second time %q", c.name, piece)
		}
	}
}

// TestFollowSlow: a report whose lines come with others' between them, over many seconds, is one.
func TestFollowSlow(t *testing.T) {
	f, now := following(t)
	for line := range strings.Lines(kernelOops) {
		if piece := f.Add([]byte(line), *now).Text; piece != nil {
			t.Fatalf("cut: %q", piece)
		}
		if piece, _ := talk(f, now, "eth0: link up\n", 900*time.Millisecond); piece != nil {
			t.Fatalf("cut: %q", piece)
		}
	}
	piece, _ := talk(f, now, "tick\n", 10*time.Second)
	for line := range strings.Lines(kernelOops) {
		if !bytes.Contains(piece, []byte(line)) {
			t.Errorf("no %q in %q", line, piece)
		}
	}
}

// TestFollowResets: a device that crashes again and again, without any pause, has each report told before long.
func TestFollowResets(t *testing.T) {
	f, now := following(t)
	told := 0
	for range 20 {
		told += bytes.Count(f.Add([]byte(hardFault), *now).Text, []byte("HardFault"))
		piece, _ := talk(f, now, "boot\n", 600*time.Millisecond)
		told += bytes.Count(piece, []byte("HardFault"))
	}
	if told < 16 || told > 20 {
		t.Errorf("%d of 20 reports", told)
	}
}

// TestFollowBorder: nothing is cut at a size: wherever a report begins in much text that comes at once, one piece has all of it.
func TestFollowBorder(t *testing.T) {
	tick := strings.Repeat("tick ", 50) + "\n"
	for _, before := range []int{maxLoose, lookEvery, 1 << 20} {
		for _, less := range []int{0, 100, 200} {
			f, now := following(t)
			text := []byte(strings.Repeat("t", (before-less)%len(tick)) + strings.Repeat(tick, (before-less)/len(tick)) + hardFault +
				strings.Repeat(tick, lookEvery/100))
			var all []byte
			for chunk := range slices.Chunk(text, 4096) {
				if piece := f.Add(chunk, *now).Text; bytes.Contains(piece, []byte("HardFault")) {
					all = piece
				}
			}
			if !bytes.Contains(all, []byte(hardFault)) {
				t.Errorf("%d bytes before the report: %d bytes told", before-less, len(all))
			}
			if len(f.text) > maxLoose+2*lookEvery {
				t.Errorf("%d bytes kept", len(f.text))
			}
		}
	}
}

// FuzzFollow: whatever comes, and whenever, each byte is told at most once, in order, and what is kept is bounded.
func FuzzFollow(f *testing.F) {
	f.Add([]byte(hardFault+kernelOops), []byte{7, 0, 200, 3})
	f.Add([]byte(kernelOops+kernelOops), []byte{40, 40, 250})
	f.Add([]byte("backsight: 0x00000014 0x00000024\r\n\r"), []byte{1, 255})
	f.Fuzz(func(t *testing.T, text, steps []byte) {
		if len(steps) == 0 || len(text) > 1<<16 {
			return
		}
		f, now := following(t)
		var told []byte
		rest := text
		for i := 0; len(rest) > 0; i++ {
			step := int(steps[i%len(steps)])
			n := min(len(rest), step%64+1)
			*now = now.Add(time.Duration(step) * 10 * time.Millisecond)
			told = append(told, f.Add(rest[:n], *now).Text...)
			rest = rest[n:]
		}
		if n := len(f.text); n > maxKept || len(f.came) > n+1 {
			t.Errorf("%d bytes in %d arrivals kept", n, len(f.came))
		}
		told = append(told, f.Rest().Text...)
		if !inOrder(text, told) {
			t.Errorf("told %q", told)
		}
	})
}

// inOrder tells whether part is what is left of text without some of its bytes.
func inOrder(text, part []byte) bool {
	for _, c := range text {
		if len(part) > 0 && part[0] == c {
			part = part[1:]
		}
	}
	return len(part) == 0
}
