// The scanner of DXF drawings for Python: a handle for each drawing, no logic.
#include "text/dxf.h"

#include <algorithm>
#include <memory>
#include <new>

#include "platform/c_function.h"
#include "platform/portable.h"

namespace {

using geodomain::guarded;
using geodomain::Status;
using namespace geodomain::text;

void join(const std::vector<std::string>& names, char* out) {
  for (const std::string& name : names) {
    out = std::replace_copy(name.begin(), name.end(), out, '\n', ' ');  // of a binary drawing
    *out++ = '\n';
  }
}

std::int64_t joined_size(const std::vector<std::string>& names) {
  std::int64_t size = 0;
  for (const std::string& name : names) size += static_cast<std::int64_t>(name.size()) + 1;
  return size;
}

}  // namespace

// The bytes need not exist after this call.
GD_API Status geodomain_dxf_open(const char* bytes, std::int64_t size, void** drawing) {
  return guarded([&] { *drawing = new DxfDrawing(bytes, size); });
}
GD_DESCRIBE(geodomain_dxf_open);

GD_API void geodomain_dxf_close(void* drawing) { delete static_cast<DxfDrawing*>(drawing); }
GD_DESCRIBE(geodomain_dxf_close);

// Numbers of rows, of numbers that the caller must round, of types, of bytes of all names and of
// all types (with a line end after each), and of coordinates and face list integers of MESHes; then
// the fault and its byte.
GD_API void geodomain_dxf_sizes(void* drawing, std::int64_t* out) {
  const DxfDrawing& it = *static_cast<DxfDrawing*>(drawing);
  out[0] = static_cast<std::int64_t>(it.rows().size());
  out[1] = static_cast<std::int64_t>(it.unsure().size());
  out[2] = static_cast<std::int64_t>(it.types().size());
  out[3] = joined_size(it.names());
  out[4] = joined_size(it.types());
  out[5] = static_cast<std::int64_t>(it.mesh_places().size());
  out[6] = static_cast<std::int64_t>(it.mesh_faces().size());
  out[7] = static_cast<std::int64_t>(it.fault());
  out[8] = it.place();
}
GD_DESCRIBE(geodomain_dxf_sizes);

GD_API void geodomain_dxf_names(void* drawing, char* names, char* types, std::int64_t* counts) {
  const DxfDrawing& it = *static_cast<DxfDrawing*>(drawing);
  join(it.names(), names);
  join(it.types(), types);
  std::copy(it.type_counts().begin(), it.type_counts().end(), counts);
}
GD_DESCRIBE(geodomain_dxf_names);

// The columns of the rows: `flags` has 3 for each row (in a block, in paper space, invisible),
// `names` 2 (layer and name), `integers` 6 and `corners` 12. `unsure` has 4 for each number.
GD_API void geodomain_dxf_rows(void* drawing, std::uint8_t* kinds, std::uint8_t* flags,
                               std::int32_t* names, std::uint32_t* seen, std::int32_t* integers,
                               double* corners, std::int64_t* unsure) {
  const DxfDrawing& it = *static_cast<DxfDrawing*>(drawing);
  for (const DxfRow& row : it.rows()) {
    *kinds++ = static_cast<std::uint8_t>(row.kind);
    *flags++ = row.in_block;
    *flags++ = row.paper;
    *flags++ = row.invisible;
    *names++ = row.layer;
    *names++ = row.name;
    *seen++ = row.seen;
    integers = std::copy(row.integers.begin(), row.integers.end(), integers);
    corners = std::copy(row.corners.begin(), row.corners.end(), corners);
  }
  for (const DxfUnsure& number : it.unsure()) {
    *unsure++ = number.row;
    *unsure++ = number.slot;
    *unsure++ = number.begin;
    *unsure++ = number.end;
  }
}
GD_DESCRIBE(geodomain_dxf_rows);

// The coordinates of all MESHes one after the other, and the integers of their face lists.
GD_API void geodomain_dxf_meshes(void* drawing, double* places, std::int32_t* faces) {
  const DxfDrawing& it = *static_cast<DxfDrawing*>(drawing);
  std::copy(it.mesh_places().begin(), it.mesh_places().end(), places);
  std::copy(it.mesh_faces().begin(), it.mesh_faces().end(), faces);
}
GD_DESCRIBE(geodomain_dxf_meshes);
