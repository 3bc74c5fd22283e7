// The readers of OBJ, OFF, text STL and text PLY for Python: a handle for each file, no logic. The
// caller owns the bytes, which must exist longer than the handle.
#include <algorithm>
#include <atomic>
#include <new>

#include "platform/c_function.h"
#include "platform/portable.h"
#include "text/obj.h"
#include "text/stl.h"
#include "text/word_table.h"
#include "text/words.h"

namespace {

using namespace geodomain::text;
using geodomain::guarded;
using geodomain::Status;

}  // namespace

// Whether some lines end in a lone CR.
GD_API Status geodomain_text_has_lone_return(const char* bytes, std::int64_t size, int threads,
                                             std::int32_t* has_one) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  return guarded([&] {
    std::atomic<bool> any{false};
    geodomain::Team(threads).run(size, kPiece, [&](std::int64_t begin, std::int64_t end, int) {
      if (!any && has_lone_return(bytes, begin, end, size)) any = true;
    });
    *has_one = any;
  });
}
GD_DESCRIBE(geodomain_text_has_lone_return);

GD_API Status geodomain_obj_open(const char* bytes, std::int64_t size, int threads, void** handle) {
  return guarded([&] { *handle = new ObjMesh(bytes, size, threads); });
}
GD_DESCRIBE(geodomain_obj_open);

GD_API void geodomain_obj_close(void* mesh) { delete static_cast<ObjMesh*>(mesh); }
GD_DESCRIBE(geodomain_obj_close);

// Numbers of vertices, faces, corners and numbers that the caller must round; the fault, its first
// and last byte, and the number of words after its key.
GD_API void geodomain_obj_told(void* mesh, std::int64_t* out) {
  const ObjMesh& it = *static_cast<ObjMesh*>(mesh);
  const ObjTold& told = it.told();
  const std::int64_t all[] = {
      it.vertices(), it.faces(), it.corners(), it.unsure(), static_cast<std::int64_t>(told.fault),
      told.begin,    told.end,   told.count};
  std::copy(std::begin(all), std::end(all), out);
}
GD_DESCRIBE(geodomain_obj_told);

GD_API Status geodomain_obj_take(void* mesh, double* places, std::int64_t* corners,
                                 std::int64_t* sizes, UnsureNumber* unsure) {
  return guarded([&] { static_cast<ObjMesh*>(mesh)->take(places, corners, sizes, unsure); });
}
GD_DESCRIBE(geodomain_obj_take);

GD_API Status geodomain_stl_open(const char* bytes, std::int64_t size, std::int64_t piece_size,
                                 int threads, void** handle) {
  return guarded([&] { *handle = new StlMesh(bytes, size, piece_size, threads); });
}
GD_DESCRIBE(geodomain_stl_open);

GD_API void geodomain_stl_close(void* mesh) { delete static_cast<StlMesh*>(mesh); }
GD_DESCRIBE(geodomain_stl_close);

// Numbers of vertices, corners and numbers that the caller must round, whose vertices are not
// merged; the fault, its first and last byte, and the number of corners before it.
GD_API void geodomain_stl_told(void* mesh, std::int64_t* out) {
  const StlMesh& it = *static_cast<StlMesh*>(mesh);
  const StlTold& told = it.told();
  const std::int64_t all[] = {
      it.vertices(), it.corners(), it.unsure(), static_cast<std::int64_t>(told.fault),
      told.begin,    told.end,     told.count};
  std::copy(std::begin(all), std::end(all), out);
}
GD_DESCRIBE(geodomain_stl_told);

GD_API Status geodomain_stl_take(void* mesh, double* places, std::int64_t* corners,
                                 UnsureNumber* unsure) {
  return guarded([&] { static_cast<StlMesh*>(mesh)->take(places, corners, unsure); });
}
GD_DESCRIBE(geodomain_stl_take);

GD_API Status geodomain_words_open(const char* bytes, std::int64_t size, int threads,
                                   void** handle) {
  return guarded([&] { *handle = new WordTable(bytes, size, threads); });
}
GD_DESCRIBE(geodomain_words_open);

GD_API void geodomain_words_close(void* table) { delete static_cast<WordTable*>(table); }
GD_DESCRIBE(geodomain_words_close);

GD_API std::int64_t geodomain_words_count(void* table) {
  return static_cast<WordTable*>(table)->count();
}
GD_DESCRIBE(geodomain_words_count);

GD_API std::int64_t geodomain_words_place(void* table, std::int64_t word) {
  return static_cast<WordTable*>(table)->place(word);
}
GD_DESCRIBE(geodomain_words_place);

// Whether each row of `width` words from word `first` on is a line.
GD_API Status geodomain_words_are_lines(void* table, std::int64_t first, std::int64_t rows,
                                        std::int64_t width, std::int32_t* are_lines) {
  return guarded(
      [&] { *are_lines = static_cast<WordTable*>(table)->are_lines(first, rows, width); });
}
GD_DESCRIBE(geodomain_words_are_lines);

// told: the fault, its row, its first and last byte, and the number of numbers that the caller must
// round.
GD_API Status geodomain_words_read(void* table, std::int64_t first, std::int64_t rows,
                                   std::int64_t width, const WordKind* kinds, double* cells,
                                   std::int64_t* told) {
  return guarded([&] {
    WordTable& it = *static_cast<WordTable*>(table);
    const WordTable::Told report = it.read(first, rows, width, kinds, cells);
    const std::int64_t all[] = {static_cast<std::int64_t>(report.fault), report.row, report.begin,
                                report.end, static_cast<std::int64_t>(it.unsure().size())};
    std::copy(std::begin(all), std::end(all), told);
  });
}
GD_DESCRIBE(geodomain_words_read);

GD_API void geodomain_words_unsure(void* table, UnsureNumber* out) {
  const std::vector<UnsureNumber>& unsure = static_cast<WordTable*>(table)->unsure();
  std::copy(unsure.begin(), unsure.end(), out);
}
GD_DESCRIBE(geodomain_words_unsure);
