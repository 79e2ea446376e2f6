import { chmod, copyFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
const ARCHIVES = join(ROOT, 'packages/archives');
const DIST = join(ARCHIVES, 'npm/dist');

/**
 * Makes the package that converts archives in packages/archives/npm/dist/: its command, the process
 * that reads an archive beside it, and the packages that they use with their licences. It takes the
 * place of an earlier one when it is complete.
 */
export async function buildArchives(): Promise<void> {
  const stage = await mkdtemp(`${DIST}-`);
  await chmod(stage, 0o755);
  const build = await rolldown({
    input: {
      'parley-archives': join(ARCHIVES, 'convert/command.ts'),
      'reader-child': join(ARCHIVES, 'process/reader-child.ts'),
    },
    platform: 'node',
    tsconfig: false,
    checks: { bundlerTimings: false },
    transform: { target: 'es2022' },
  });
  try {
    const { output } = await build.write({
      dir: stage,
      format: 'es',
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name].js',
    });
    const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
    await copyFile(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'));
    await writeFile(join(stage, 'LICENSE-OF-OTHERS'), await licencesOf(modules));
    await rm(DIST, { recursive: true, force: true });
    await rename(stage, DIST);
  } finally {
    await build.close();
    await rm(stage, { recursive: true, force: true });
  }
}

/** Returns the licences of the modules' packages, which must accompany copies. */
async function licencesOf(modules: readonly string[]): Promise<string> {
  const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map(async (folder) => {
    const licence = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
    if (licence === undefined) throw new Error(`${folder} has no licence that could be packed.`);
    return `${folder.split('/node_modules/').at(-1)}\n\n${await readFile(join(folder, licence), 'utf8')}`;
  });
  return (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n`);
}
