import type { ESTree } from 'rolldown/utils';

export type MemberNode = ESTree.ClassElement | ESTree.TSSignature;

/** Returns the members that a class, an interface or a type of object literals declares. */
export function memberNodes(declaration: ESTree.Declaration): readonly MemberNode[] {
  switch (declaration.type) {
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
      return declaration.body.body;
    case 'TSTypeAliasDeclaration':
      return literalsIn(declaration.typeAnnotation).flatMap(({ members }) => members);
    default:
      return [];
  }
}

function literalsIn(type: ESTree.TSType): ESTree.TSTypeLiteral[] {
  if (type.type === 'TSTypeLiteral') return [type];
  return type.type === 'TSIntersectionType' ? type.types.flatMap(literalsIn) : [];
}

/** Returns whether a member is for the application: not private or protected. */
export function isPublic(node: MemberNode): boolean {
  if ('accessibility' in node && (node.accessibility === 'private' || node.accessibility === 'protected')) {
    return false;
  }
  return !('key' in node) || node.key.type !== 'PrivateIdentifier';
}

/** Returns the name of a member; a nameless one is called after its effect. */
export function memberName(node: MemberNode): string {
  if (node.type === 'TSCallSignatureDeclaration') return 'call';
  if (node.type === 'TSConstructSignatureDeclaration') return 'new';
  if (!('key' in node)) return 'index';
  if (node.key.type === 'Identifier') return node.key.name;
  return node.key.type === 'Literal' ? String(node.key.value) : 'computed';
}

/** Returns the names that a class or interface extends. */
export function basesOf(
  declaration: ESTree.Declaration,
): { readonly name: string; readonly args: ESTree.TSTypeParameterInstantiation | null }[] {
  const bases =
    declaration.type === 'ClassDeclaration' && declaration.superClass !== null
      ? [{ base: declaration.superClass, args: declaration.superTypeArguments ?? null }]
      : declaration.type === 'TSInterfaceDeclaration'
        ? declaration.extends.map(({ expression, typeArguments }) => ({
            base: expression,
            args: typeArguments,
          }))
        : [];
  return bases.flatMap(({ base, args }) => (base.type === 'Identifier' ? [{ name: base.name, args }] : []));
}

export function parametersOf(declaration: ESTree.Declaration | undefined): readonly ESTree.TSTypeParameter[] {
  return declaration !== undefined && 'typeParameters' in declaration
    ? (declaration.typeParameters?.params ?? [])
    : [];
}
