'use strict';
// Checks whether Parley can run here. Plain JavaScript that old releases of Node parse too: it has
// to answer there as well.

/** The major version that package.json pins. */
const MAJOR = Number.parseInt(require('../package.json').engines.node, 10);
const PINNED = require('../package.json').dependencies.node;

/**
 * Returns lines that say what is wrong and what to do; none if nothing is wrong. `stripsTypes`:
 * this Node runs TypeScript as it is (`process.features.typescript`).
 */
function problemsOf(platform, version, stripsTypes) {
  if (platform === 'win32') {
    return [
      'Parley does not run on Windows itself.',
      'Install WSL ("wsl --install"), and run the same commands in its Linux, in a checkout of its own.',
    ];
  }
  if (Number.parseInt(version, 10) === MAJOR && stripsTypes) return [];
  return [
    `This is Node ${version}, and Parley needs Node ${PINNED}, which "npm ci" installs beside it unless install scripts are off.`,
    `Run "npm rebuild node --ignore-scripts=false" once, or put Node ${PINNED} in front of the others on the PATH.`,
  ];
}

/** Ends the process with code 1 where it cannot go on. */
function requireRuntime({ atInstall }) {
  const { platform, versions, features } = process;
  // The scripts of npm run by any Node until the pinned one is there.
  const problems = atInstall
    ? problemsOf(platform, `${MAJOR}`, true)
    : problemsOf(platform, versions.node, Boolean(features.typescript));
  if (problems.length === 0) return;
  process.stderr.write(problems.map((line) => `parley: ${line}\n`).join(''));
  process.exit(1);
}

module.exports = { problemsOf, requireRuntime };

if (require.main === module) requireRuntime({ atInstall: true });
