// Files from the web, by libcurl, which nobody else includes. TLS certificates are verified, and a
// redirect never leads from https to http. May be called from several threads.
//
// What arrives is written to a file that stays when the transfer ends early, for whatever reason.
// Beside it lies a note, FILE.json, with the address and the server's ETag (or Last-Modified). The
// next call asks for the rest on the condition that the server still has the same file, and begins
// anew if it has another one or gives no parts. Whether the bytes are the right ones is for the
// caller to check, who then forgets the download.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace heed {

struct Download {
  std::string url;
  std::filesystem::path file;  // gets the bytes; its folder has to exist
  int64_t bytes = 0;           // how many there have to be; 0: any number
  // Bytes that are there and that there will be, 0 if nobody knows. False stops the transfer.
  std::function<bool(int64_t done, int64_t total)> progress = nullptr;
};

// True: the file is complete. False: progress() stopped it. Everything else is an Error.
bool download(const Download& request);

// Removes what download() left: the file, if it still has this name, and the note.
void forget_download(const std::filesystem::path& file);

}  // namespace heed
