import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMention } from '@parley/protocol/forms/mentions.ts';
import type { Plugin } from 'rolldown';
import { isolatedDeclarationSync } from 'rolldown/experimental';
import { dts } from 'rolldown-plugin-dts';
import type { TSchema } from 'typebox';
import { declaredEndpoints } from './endpoints.ts';
import { isSchema, protocolTypes } from './protocol-types.ts';
import { WireTypes } from './wire-types.ts';

export const PACKAGES = join(import.meta.dirname, '../../packages');
/** The endpoints by path, which are in no source. */
const ROUTES = join(PACKAGES, 'client/rest/routes.ts');
/** The module of the wire's types, which exists during a build alone. */
export const WIRE = join(PACKAGES, 'wire.d.ts');

/** The sources of the SDK's declarations, by file. */
export interface DeclaredModules {
  /** Returns a module in plain declarations; undefined for a file of a package. */
  text(file: string): string | undefined;
  /**
   * Returns the name in OpenAPI of the resource that a type of WIRE is printed from, if it has one.
   */
  resourceOf(type: string): string | undefined;
}

/**
 * Reads the sources of the SDK as declarations. The sources say the type of every export
 * (`isolatedDeclarations`), so that no compiler has to work it out. Only typebox can work out the
 * types of the protocol, so its modules are replaced by the same types in plain TypeScript.
 */
export async function declaredModules(): Promise<DeclaredModules> {
  const wire = new WireTypes();
  const modules = new Map<string, object>();
  for (const path of globSync('protocol/**/*.ts', { cwd: PACKAGES }).sort()) {
    const file = join(PACKAGES, path);
    const exported: object = await import(pathToFileURL(file).href);
    modules.set(file, exported);
    for (const [name, value] of Object.entries(exported)) {
      if (isSchema(value) && !isMention(value)) wire.name(name, value as TSchema);
    }
  }
  const texts = new Map([[ROUTES, `export type { Routes } from '${WIRE}';`]]);
  for (const [file, exported] of modules) {
    texts.set(
      file,
      protocolTypes({ file, code: readFileSync(file, 'utf8'), exported, wire, wireModule: WIRE }),
    );
  }
  texts.set(WIRE, wire.module(await declaredEndpoints()));
  return {
    text(file) {
      if (!texts.has(file) && isSource(file)) texts.set(file, declared(file));
      return texts.get(file);
    },
    resourceOf: (type) => wire.resourceOf(type),
  };
}

/** Returns the plugins that bundle the declarations. */
export function declarationPlugins(modules: DeclaredModules): Plugin[] {
  return [
    {
      name: 'declarations of the sources',
      resolveId: (id) => (id === WIRE ? WIRE : undefined),
      // Otherwise the bundler would make declarations of declarations, and oxc would drop abstract
      // methods that have no bodies before them.
      load: (id) =>
        modules.text(id) ??
        modules.text(id.replace(/\.d\.ts$/, '.tsx')) ??
        modules.text(id.replace(/\.d\.ts$/, '.ts')),
    },
    ...dts({ generator: 'oxc', emitDtsOnly: true, tsconfig: false }),
  ];
}

function isSource(file: string): boolean {
  return file.startsWith(PACKAGES) && /(?<!\.d)\.tsx?$/.test(file) && existsSync(file);
}

/** A comment on a module, which would become one on its first type. */
const OF_MODULE = /^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*(?=(?:import|export) (?:type )?[{*])/;

function declared(file: string): string {
  const { code, errors } = isolatedDeclarationSync(file, readFileSync(file, 'utf8'), { stripInternal: true });
  if (errors.length === 0) return code.replace(OF_MODULE, '');
  const told = errors.map(({ message, codeframe }) => [message, codeframe].filter(Boolean).join('\n'));
  throw new Error(`${relative(PACKAGES, file)} does not say its types.\n${told.join('\n')}`);
}
