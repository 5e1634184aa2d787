package espcore

import "github.com/backsight/backsight/target"

// chip is a chip by the number that a dump's version has (components/bootloader_support/include/esp_app_format.h,
// esp_chip_id_t).
type chip struct {
	id   uint16
	name string
	// rom is where the chip's ROM has code (components/soc/CHIP/include/soc/soc.h, SOC_IROM_MASK_LOW and _HIGH).
	rom target.Range
}

// chips are those with Xtensa, and those with RISC-V.
var chips = [...]chip{
	{0, "ESP32", target.Range{Lo: 0x4000_0000, Hi: 0x4007_0000}},
	{2, "ESP32-S2", target.Range{Lo: 0x4000_0000, Hi: 0x4002_0000}},
	{9, "ESP32-S3", target.Range{Lo: 0x4000_0000, Hi: 0x4006_0000}},
	{5, "ESP32-C3", target.Range{Lo: 0x4000_0000, Hi: 0x4006_0000}},
	{12, "ESP32-C2", target.Range{Lo: 0x4000_0000, Hi: 0x4009_0000}},
	{13, "ESP32-C6", target.Range{Lo: 0x4000_0000, Hi: 0x4005_0000}},
	{16, "ESP32-H2", target.Range{Lo: 0x4000_0000, Hi: 0x4002_0000}},
	{18, "ESP32-P4", target.Range{Lo: 0x4fc0_0000, Hi: 0x4fc2_0000}},
	{20, "ESP32-C61", target.Range{Lo: 0x4000_0000, Hi: 0x4004_0000}},
	{23, "ESP32-C5", target.Range{Lo: 0x4000_0000, Hi: 0x4005_0000}},
	{25, "ESP32-H21", target.Range{Lo: 0x4000_0000, Hi: 0x4002_0000}},
}

// chipOf is the chip of a dump's version, whose upper half is the chip's number; nil for an unknown one.
func chipOf(version uint32) *chip {
	for i := range chips {
		if c := &chips[i]; uint32(c.id) == version>>16 {
			return c
		}
	}
	return nil
}

// isELFVersion tells whether the lower half of a version is of a dump that has an ELF file: 1.x; before that it was 0.x.
func isELFVersion(version uint32) bool { return version>>8&0xff == 1 && version&0xff < 16 }
