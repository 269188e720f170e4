package interop

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// TensorBoard writes points as an event file: records of TFRecord, each with an Event. The time is that of the export,
// as the store keeps none.
func TensorBoard(w io.Writer, at time.Time, points []Point) error {
	wall := float64(at.UnixMicro()) / 1e6
	if err := writeRecord(w, event(wall, 0, 3, []byte("brain.Event:2"))); err != nil {
		return err
	}
	for _, p := range points {
		// Summary.Value: tag = 1, simple_value = 2. Summary: value = 1. Event: summary = 5.
		value := protowire.AppendTag(nil, 1, protowire.BytesType)
		value = protowire.AppendString(value, p.Tag())
		value = protowire.AppendTag(value, 2, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(p.Value)))
		summary := protowire.AppendTag(nil, 1, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
		if err := writeRecord(w, event(wall, p.Step, 5, summary)); err != nil {
			return err
		}
	}

	return nil
}

// event returns an Event: wall_time = 1, step = 2, and one field more.
func event(wall float64, step int, field protowire.Number, body []byte) []byte {
	out := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
	out = protowire.AppendFixed64(out, math.Float64bits(wall))
	out = protowire.AppendTag(out, 2, protowire.VarintType)
	out = protowire.AppendVarint(out, uint64(step))
	out = protowire.AppendTag(out, field, protowire.BytesType)

	return protowire.AppendBytes(out, body)
}

// writeRecord writes a record of TFRecord: its length, the checksum of that, its bytes, and the checksum of those.
func writeRecord(w io.Writer, body []byte) error {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(body)))
	out := binary.LittleEndian.AppendUint32(length, masked(length))
	out = append(out, body...)
	out = binary.LittleEndian.AppendUint32(out, masked(body))
	_, err := w.Write(out)

	return err
}

// masked returns the checksum of TFRecord, a CRC-32C that is rotated and has a constant added.
func masked(b []byte) uint32 {
	crc := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))

	return crc>>15 | crc<<17 + 0xa282ead8
}
