package macho

import (
	"fmt"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Version is what a file says of the system that it was built for.
type Version struct {
	// Platform is PLATFORM_* of mach-o/loader.h: 1 macOS, 2 iOS, 3 tvOS, 4 watchOS, 6 Mac
	// Catalyst, 7 to 9 their simulators, 11 visionOS; 0 unknown.
	Platform uint32
	// MinOS is the oldest release that the file runs on, xxxx.yy.zz in nibbles.
	MinOS uint32
}

// VersionOf is the version that an image states; the zero Version for images of another format.
func VersionOf(img *image.Image) Version {
	if c, ok := image.ContainerAs[*container](img.Container()); ok {
		return c.main.version
	}
	return Version{}
}

// read reads LC_BUILD_VERSION, or one of the LC_VERSION_MIN_* that older linkers write.
func (v *Version) read(id uint32, r *bin.Reader) {
	switch id {
	case lcBuildVersion:
		v.Platform = r.U32()
	case lcVersionMinMacOS:
		v.Platform = 1
	case lcVersionMinIOS:
		v.Platform = 2
	case lcVersionMinTVOS:
		v.Platform = 3
	case lcVersionMinWatchOS:
		v.Platform = 4
	}
	v.MinOS = r.U32()
}

func (v Version) String() string {
	names := [...]string{"", "macOS", "iOS", "tvOS", "watchOS", "bridgeOS", "Mac Catalyst", "iOS simulator", "tvOS simulator",
		"watchOS simulator", "DriverKit", "visionOS", "visionOS simulator"}
	name := "?"
	if int(v.Platform) < len(names) {
		name = names[v.Platform]
	}
	return fmt.Sprintf("%s %d.%d", name, v.MinOS>>16, v.MinOS>>8&0xff)
}
