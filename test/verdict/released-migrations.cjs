'use strict';
// A migration that was released is never edited again: databases that have it would silently lack
// the change. Plain JavaScript that old releases of Node parse too: `.ci/run` asks before it
// installs anything.

const { createHash } = require('node:crypto');
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

const FOLDER = join(__dirname, '../../migrations');

/** Path of each file in migrations/ → the start of its SHA-256. A new migration adds its line. */
const RELEASED = require('../db/released-migrations.json');

/** Returns a sentence for each migration that is not as it was released; none if all are. */
function changedMigrations(released = RELEASED) {
  const names = filesIn(FOLDER).sort();
  const gone = Object.keys(released).filter((name) => !names.includes(name));
  const problems = gone.map((name) => `migrations/${name} was released and is gone: databases have run it.`);
  for (const name of names) {
    const sum = createHash('sha256')
      .update(readFileSync(join(FOLDER, name)))
      .digest('hex')
      .slice(0, 16);
    if (released[name] === undefined) {
      problems.push(
        `migrations/${name} is new: add "${name}": "${sum}" to test/db/released-migrations.json.`,
      );
    } else if (released[name] !== sum) {
      problems.push(
        `migrations/${name} was released and is changed: databases that have it would lack the change. Write a new one.`,
      );
    }
  }
  return problems;
}

/** Returns the paths of the files in a folder and the folders in it. */
function filesIn(folder, under = '') {
  const entries = readdirSync(join(folder, under), { withFileTypes: true });
  return [].concat(
    ...entries.map((entry) =>
      entry.isDirectory() ? filesIn(folder, `${under}${entry.name}/`) : [`${under}${entry.name}`],
    ),
  );
}

module.exports = { RELEASED, changedMigrations };

if (require.main === module) {
  const problems = changedMigrations();
  process.stdout.write(problems.map((line) => `${line}\n`).join(''));
  process.exit(problems.length === 0 ? 0 : 1);
}
