// Unpacks the browser of the package @sparticuz/chromium, which is in `package/bin` of a folder, to that folder: the program,
// the libraries that a bare machine lacks, and what draws without a graphics card.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";

const folder = process.argv[2];
const unpacked = (name) => zlib.brotliDecompressSync(fs.readFileSync(path.join(folder, "package", "bin", name)));

for (const name of ["al2023.tar.br", "swiftshader.tar.br"]) {
  execFileSync("tar", ["xf", "-", "-C", folder], { input: unpacked(name) });
}
fs.writeFileSync(path.join(folder, "chromium"), unpacked("chromium.br"), { mode: 0o755 });
