'use strict';
/**
 * Lets every start but the first one load its modules in half the processor time. By itself Node
 * removes the types of each source and compiles it at each start. Here both results are kept: the
 * sources without types in one file, the compiled code by Node's own compile cache. Both are
 * written when a process ends in order, and serve only a source of the same content, so that a
 * changed source needs no further action. Where the directory cannot be written, every start is
 * like the first one.
 *
 * Plain JavaScript, because Node would load its compiler for this file.
 */

const { hash } = require('node:crypto');
const {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const module_ = require('node:module');
const { join, sep } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

const ROOT = join(__dirname, '..');
const OURS = pathToFileURL(ROOT + sep).href;
/** `npm ci` removes it. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'parley');

/**
 * Returns a function that removes the types of a source, by its path in the checkout, and keeps the
 * result.
 */
function loadQuickly(directory = CACHE) {
  module_.enableCompileCache(join(directory, 'compiled'));
  // By version: another Node may remove types in another way.
  const file = join(directory, `stripped-${process.version}.json`);
  const known = readStripped(file);
  let isChanged = false;
  const codeOf = (name) => {
    const source = readFileSync(join(ROOT, name), 'utf8');
    const digest = hash('sha1', source);
    if (known[name]?.digest !== digest) {
      known[name] = { digest, code: withoutTypes(source) };
      isChanged = true;
    }
    return known[name].code;
  };
  module_.registerHooks({
    resolve: resolver(),
    load(url, context, next) {
      if (!url.startsWith(OURS) || !url.endsWith('.ts')) return next(url, context);
      const name = fileURLToPath(url).slice(ROOT.length + 1);
      return { format: 'module', source: codeOf(name), shortCircuit: true };
    },
  });
  process.once('exit', () => {
    if (isChanged) writeStripped(file, directory, known);
  });
  return codeOf;
}

/**
 * Returns a resolve hook that asks Node only once for the results that all imports from one
 * directory share: the file of a name, and the format of its files with the same ending. Node looks
 * through the file system for each import, which is half of the time that a package of many files
 * takes.
 */
function resolver() {
  const known = new Map();
  const formats = new Map();
  return (specifier, context, next) => {
    const { parentURL, conditions, importAttributes } = context;
    if (
      parentURL === undefined ||
      !conditions.includes('import') ||
      Object.keys(importAttributes).length > 0
    ) {
      return next(specifier, context);
    }
    const key = `${specifier} ${parentURL.slice(0, parentURL.lastIndexOf('/'))}`;
    let found = known.get(key);
    if (found === undefined) {
      const { url, format } = specifier.startsWith('.')
        ? fileOf(new URL(specifier, parentURL), formats, () => next(specifier, context))
        : next(specifier, context);
      found = { url, format, shortCircuit: true };
      known.set(key, found);
    }
    return found;
  };
}

/** Asks Node for the first file of its kind. */
function fileOf(url, formats, ask) {
  const kind = kindOf(url.href);
  const format = formats.get(kind);
  if (format !== undefined && lstatSync(url, { throwIfNoEntry: false })?.isFile()) {
    return { url: url.href, format };
  }
  const result = ask();
  // Skipped where a part of the path is a symbolic link.
  if (result.url === url.href && result.format) formats.set(kind, result.format);
  return result;
}

/** Returns the directory of a file and the ending of its name, which Node takes the format from. */
function kindOf(href) {
  return href.slice(0, href.lastIndexOf('/') + 1) + href.slice(href.lastIndexOf('.'));
}

/**
 * Returns sources without types by path, each with the digest of the source that it was made from.
 */
function readStripped(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) ?? {};
  } catch {
    return {};
  }
}

/**
 * Renames a complete file into place: a process that starts meanwhile reads the earlier or the
 * later one.
 */
function writeStripped(file, directory, known) {
  const draft = `${file}.${process.pid}`;
  const present = Object.entries(known).filter(([name]) => existsSync(join(ROOT, name)));
  try {
    mkdirSync(directory, { recursive: true });
    try {
      writeFileSync(draft, JSON.stringify(Object.fromEntries(present)));
      renameSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
  } catch {
    // The next start does without.
  }
}

/** Keeps the line and column of everything. Throws for a source that Node would not load either. */
function withoutTypes(source) {
  const { emitWarning } = process;
  // Node calls the function experimental on standard error. The Node is pinned, so that warning
  // helps no reader.
  process.emitWarning = () => undefined;
  try {
    return module_.stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

module.exports = { loadQuickly };
