import { dirname, join, resolve } from 'node:path';
import { type ESTree, parseSync } from 'rolldown/utils';
import { type DeclaredModules, PACKAGES } from '../declarations.ts';

/** A name that a module declares, with its comment. */
export interface Declaration {
  readonly name: string;
  /** Several for the overloads of a function. */
  readonly nodes: readonly ESTree.Declaration[];
  readonly module: DeclarationModule;
  readonly doc: string;
}

/** A module of declarations as its syntax tree. */
export class DeclarationModule {
  readonly file: string;
  readonly code: string;
  readonly declarations = new Map<string, Declaration>();
  /** Name in this module → where it comes from. */
  readonly imports = new Map<string, Origin>();
  /** Exported name → where it comes from: without a file, a name in this module. */
  readonly exports = new Map<string, Partial<Origin> & Pick<Origin, 'name'>>();
  readonly #comments: readonly { readonly value: string; readonly start: number; readonly end: number }[];

  constructor(file: string, code: string) {
    this.file = file;
    this.code = code;
    const { program, comments, errors } = parseSync(file.replace(/(\.d)?\.tsx?$/, '.d.ts'), code);
    if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
    this.#comments = comments;
    for (const statement of program.body) this.#add(statement);
  }

  /** Returns the text of the doc comment right before a node, without its marks; '' if none. */
  docOf({ start }: ESTree.Node): string {
    const last = this.#comments.findLast(({ end }) => end <= start);
    if (last === undefined || !last.value.startsWith('*') || /\S/.test(this.code.slice(last.end, start))) {
      return '';
    }
    const lines = last.value.slice(1).split('\n');
    return lines
      .map((line) => line.replace(/^\s*\*? ?/, ''))
      .join('\n')
      .replaceAll('*\\/', '*/')
      .trim();
  }

  /** Returns the parts of a range that are no comments. */
  withoutComments(start: number, end: number): { readonly start: number; readonly end: number }[] {
    const parts: { start: number; end: number }[] = [];
    let from = start;
    for (const comment of this.#comments) {
      if (comment.start < start || comment.end > end) continue;
      parts.push({ start: from, end: comment.start });
      from = comment.end + (/^\s*/.exec(this.code.slice(comment.end, end))?.[0].length ?? 0);
    }
    return [...parts, { start: from, end }];
  }

  #add(statement: ESTree.Directive | ESTree.Statement): void {
    if (statement.type === 'ImportDeclaration') {
      for (const specifier of statement.specifiers) {
        if (specifier.type !== 'ImportSpecifier') continue;
        const name = nameOf(specifier.imported);
        this.imports.set(specifier.local.name, { file: this.#fileOf(statement.source.value), name });
      }
    } else if (statement.type === 'ExportNamedDeclaration') {
      const { declaration, source, specifiers } = statement;
      if (declaration !== null) {
        this.#declare(declaration, statement);
        for (const name of namesOf(declaration)) this.exports.set(name, { name });
      }
      const origin = source === null ? {} : { file: this.#fileOf(source.value) };
      for (const { local, exported } of specifiers) {
        this.exports.set(nameOf(exported), { ...origin, name: nameOf(local) });
      }
    } else if (statement.type.startsWith('Export')) {
      throw new Error(`${this.file} has an export without names, which the reference does not read.`);
    } else this.#declare(statement as ESTree.Declaration, statement);
  }

  #declare(declaration: ESTree.Declaration, statement: ESTree.Node): void {
    for (const name of namesOf(declaration)) {
      const { nodes = [], doc = this.docOf(statement) } = this.declarations.get(name) ?? {};
      this.declarations.set(name, { name, nodes: [...nodes, declaration], module: this, doc });
    }
  }

  #fileOf(source: string): string {
    if (source.startsWith('.')) return resolve(dirname(this.file), source);
    return source.startsWith('@parley/') ? join(PACKAGES, source.slice('@parley/'.length)) : source;
  }
}

interface Origin {
  readonly file: string;
  readonly name: string;
}

/** The modules of the SDK, each read when a name leads to it. */
export class DeclarationModules {
  readonly #texts: Pick<DeclaredModules, 'text'>;
  readonly #read = new Map<string, DeclarationModule | undefined>();

  constructor(texts: Pick<DeclaredModules, 'text'>) {
    this.#texts = texts;
  }

  /** Returns a module's exports by their exported names, without those of packages. */
  exportsOf(file: string): Map<string, Declaration> {
    const names = [...(this.#module(file)?.exports.keys() ?? [])];
    const found = names.map((name) => [name, this.#exported(file, name)] as const);
    return new Map(found.filter((one): one is [string, Declaration] => one[1] !== undefined));
  }

  /**
   * Returns the declaration of a name in a module; undefined for names of packages and platforms.
   */
  find(module: DeclarationModule, name: string): Declaration | undefined {
    const origin = module.imports.get(name);
    return module.declarations.get(name) ?? (origin && this.#exported(origin.file, origin.name));
  }

  #exported(file: string, exported: string): Declaration | undefined {
    const module = this.#module(file);
    const origin = module?.exports.get(exported);
    if (module === undefined || origin === undefined) return undefined;
    return origin.file === undefined
      ? this.find(module, origin.name)
      : this.#exported(origin.file, origin.name);
  }

  #module(file: string): DeclarationModule | undefined {
    if (!this.#read.has(file)) {
      const text = this.#texts.text(file);
      this.#read.set(file, text === undefined ? undefined : new DeclarationModule(file, text));
    }
    return this.#read.get(file);
  }
}

function namesOf(declaration: ESTree.Declaration): string[] {
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  }
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [declaration.id.name] : [];
}

function nameOf(node: ESTree.ModuleExportName): string {
  return node.type === 'Literal' ? node.value : node.name;
}
