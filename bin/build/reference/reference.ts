import { relative } from 'node:path';
import type { ESTree } from 'rolldown/utils';
import type {
  SdkMember,
  SdkName,
  SdkReference,
  Signature,
} from '../../../src/api/documents/pages/sdk-reference.ts';
import { type DeclaredModules, PACKAGES, WIRE } from '../declarations.ts';
import { AREAS, ELSEWHERE, UNLISTED } from './areas.ts';
import { basesOf, isPublic, memberName, memberNodes, parametersOf } from './members.ts';
import { type Declaration, type DeclarationModule, DeclarationModules } from './modules.ts';
import { signatureOf } from './signature.ts';

/**
 * Returns the public names of the SDK, read from the declarations of its entries (import name →
 * file). It also has the types that no entry exports and that signatures name.
 */
export function sdkReference(
  declared: DeclaredModules,
  entries: Readonly<Record<string, string>>,
): SdkReference {
  return new Reference(declared, entries).toJSON();
}

interface Place {
  readonly name: string;
  readonly anchor: string;
  readonly entries: string[];
}

/** Type parameter → its argument, made when it is shown. */
type Arguments = ReadonlyMap<string, () => Signature>;
const NO_ARGUMENTS: Arguments = new Map();

interface Member {
  readonly name: string;
  readonly of: Declaration;
  readonly doc: string;
  /** Made for members that are shown: each gives places to types. */
  readonly signatures: readonly (() => Signature)[];
}

class Reference {
  readonly #declared: DeclaredModules;
  readonly #modules: DeclarationModules;
  /** Grows while signatures are made. */
  readonly #places = new Map<Declaration, Place>();
  readonly #anchors = new Set<string>();

  constructor(declared: DeclaredModules, entries: Readonly<Record<string, string>>) {
    this.#declared = declared;
    this.#modules = new DeclarationModules(declared);
    for (const [entry, file] of Object.entries(entries)) {
      for (const [name, declaration] of this.#modules.exportsOf(file)) {
        this.#placeOf(declaration, name).entries.push(entry);
      }
    }
  }

  toJSON(): SdkReference {
    const areas = [...AREAS, UNLISTED].map((area) => ({ ...area, names: [] as SdkName[] }));
    for (const [declaration, place] of this.#places) {
      const path = relative(PACKAGES, declaration.module.file);
      const index = AREAS.findIndex(({ of }) => of.some((start) => path.startsWith(start)));
      const area = place.entries.length === 0 ? areas.at(-1) : areas[index];
      if (area === undefined)
        throw new Error(`No area of the reference has ${path} (bin/build/reference/areas.ts).`);
      area.names.push(this.#nameOf(declaration, place));
    }
    const shown = areas.filter(({ names }) => names.length > 0);
    return {
      areas: shown.map(({ title, about, names }) => ({
        title,
        about,
        names: names.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)),
      })),
    };
  }

  #placeOf(declaration: Declaration, name: string): Place {
    const known = this.#places.get(declaration);
    if (known !== undefined) return known;
    let anchor = name;
    for (let n = 2; this.#anchors.has(anchor); n++) anchor = `${name}-${n}`;
    this.#anchors.add(anchor);
    const place = { name, anchor, entries: [] };
    this.#places.set(declaration, place);
    return place;
  }

  #nameOf(declaration: Declaration, { name, anchor, entries }: Place): SdkName {
    const isPrinted = declaration.module.file === WIRE;
    return {
      anchor,
      name,
      kind: kindOf(declaration),
      entries,
      resource: (isPrinted ? this.#declared.resourceOf(declaration.name) : undefined) ?? null,
      isPrinted,
      doc: declaration.doc,
      signatures: this.#signaturesOf(declaration, name),
      members: this.#membersOf(declaration, NO_ARGUMENTS).map(
        (member): SdkMember => ({
          anchor: `${anchor}.${member.name}`,
          name: member.name,
          from: member.of === declaration ? null : (this.#exportedName(member.of) ?? null),
          doc: member.doc,
          signatures: member.signatures.map((signature) => signature()),
        }),
      ),
    };
  }

  #exportedName(declaration: Declaration): string | undefined {
    const place = this.#places.get(declaration);
    return place === undefined || place.entries.length === 0 ? undefined : place.name;
  }

  /** Returns the members of a declaration and then its bases' members, each once. */
  #membersOf(declaration: Declaration, given: Arguments): Member[] {
    const { module, nodes } = declaration;
    const inherited = new Map<string, Member>();
    for (const base of this.#basesOf(declaration, given)) {
      if (base.of === undefined) continue;
      for (const member of this.#membersOf(base.of, base.arguments)) inherited.set(member.name, member);
    }
    const own = new Map<string, Member>();
    for (const node of memberNodes(nodes[0]!).filter(isPublic)) {
      const name = memberName(node);
      const { doc, signatures } = own.get(name) ?? {
        doc: module.docOf(node) || (inherited.get(name)?.doc ?? ''),
        signatures: [],
      };
      const signature = isForTheSdk(name, doc)
        ? []
        : [() => trimmed(this.#signature(module, node, node, given))];
      own.set(name, { name, of: declaration, doc, signatures: [...signatures, ...signature] });
      inherited.delete(name);
    }
    inherited.delete('constructor');
    return [...own.values(), ...inherited.values()];
  }

  #basesOf({ module, nodes }: Declaration, given: Arguments) {
    return basesOf(nodes[0]!).map(({ name, args }) => {
      const of = this.#modules.find(module, name);
      const passed = parametersOf(of?.nodes[0]).map((parameter, index) => {
        const value = args?.params[index];
        const preset = parameter.default;
        return [
          parameter.name.name,
          (): Signature => {
            if (value !== undefined) return this.#signature(module, value, value, given);
            return preset === null ? [parameter.name.name] : this.#signature(of!.module, preset, preset);
          },
        ] as const;
      });
      const text = (): Signature => [
        this.#linked(name, module),
        ...(args === null ? [] : this.#signature(module, args, args, given)),
      ];
      return { of, text, arguments: new Map(passed) };
    });
  }

  #signaturesOf(declaration: Declaration, name: string): Signature[] {
    const { module, nodes } = declaration;
    return nodes.map((node) => {
      if (node.type !== 'ClassDeclaration' && node.type !== 'TSInterfaceDeclaration') {
        const isList = node.type === 'TSTypeAliasDeclaration' && node.typeAnnotation.type === 'TSTypeLiteral';
        if (isList) return [`type ${name}`];
        return trimmed(this.#signature(module, node, node));
      }
      const keyword = `${node.type === 'ClassDeclaration' && node.abstract ? 'abstract ' : ''}${kindOf(declaration)}`;
      const parameters = node.typeParameters ?? null;
      const bases = this.#shownBases(declaration, NO_ARGUMENTS);
      return [
        `${keyword} ${name}`,
        ...(parameters === null ? [] : this.#signature(module, parameters, parameters)),
        ...bases.flatMap((base, index) => [index === 0 ? ' extends ' : ', ', ...base]),
      ];
    });
  }

  /**
   * Returns the bases of a declaration, with the bases of a base that is not exported in its place.
   */
  #shownBases(declaration: Declaration, given: Arguments): Signature[] {
    return this.#basesOf(declaration, given).flatMap(({ of, text, arguments: passed }) =>
      of === undefined || this.#exportedName(of) !== undefined ? [text()] : this.#shownBases(of, passed),
    );
  }

  #signature(
    module: DeclarationModule,
    node: ESTree.Node,
    range: Pick<ESTree.Node, 'start' | 'end'>,
    given: Arguments = NO_ARGUMENTS,
  ): Signature {
    return signatureOf(node, range, {
      module,
      arguments: given,
      linked: (name) => this.#linked(name, module),
      itemsOf: (name) => itemsOf(this.#modules.find(module, name)),
    });
  }

  #linked(name: string, module: DeclarationModule): Signature[number] {
    const declaration = this.#modules.find(module, name);
    if (declaration === undefined) return name;
    const page = ELSEWHERE[declaration.name];
    if (page !== undefined) return [declaration.name, page];
    const place = this.#placeOf(declaration, declaration.name);
    return [place.name, `#${place.anchor}`];
  }
}

/**
 * Returns whether a member is public for the SDK alone, as its comment says. It is shown without a
 * signature, whose types do not concern applications.
 */
function isForTheSdk(name: string, doc: string): boolean {
  return doc.startsWith(name === 'constructor' ? 'Use ' : 'Called by the client.');
}

/** The order in an area: callable names stand before passed and returned ones. */
const ORDER: readonly SdkName['kind'][] = ['function', 'class', 'constant', 'type', 'interface'];

/** Returns the items of a constant list as it is written; undefined for anything else. */
function itemsOf(declaration: Declaration | undefined): string[] | undefined {
  const [node] = declaration?.nodes ?? [];
  if (declaration === undefined || node?.type !== 'VariableDeclaration') return undefined;
  const type = node.declarations[0]?.id.typeAnnotation?.typeAnnotation;
  if (type?.type !== 'TSTypeOperator' || type.typeAnnotation?.type !== 'TSTupleType') return undefined;
  const { code } = declaration.module;
  return type.typeAnnotation.elementTypes.map(({ start, end }) => code.slice(start, end));
}

function kindOf({ nodes }: Declaration): SdkName['kind'] {
  switch (nodes[0]?.type) {
    case 'ClassDeclaration':
      return 'class';
    case 'TSInterfaceDeclaration':
      return 'interface';
    case 'TSTypeAliasDeclaration':
      return 'type';
    case 'VariableDeclaration':
      return 'constant';
    default:
      return 'function';
  }
}

const MODIFIERS = /^(?:(?:export|declare|public|abstract|override) )+/;

/** Returns a signature without the modifiers before it and the semicolon behind it. */
function trimmed(signature: Signature): Signature {
  const last = signature.length - 1;
  return signature.map((piece, index) => {
    if (typeof piece !== 'string') return piece;
    const begun = index === 0 ? piece.replace(MODIFIERS, '') : piece;
    return index === last ? begun.replace(/;$/, '') : begun;
  });
}
