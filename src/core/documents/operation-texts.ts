/**
 * Returns the files with the description of each operation of the core and of these features: the
 * rules of the operation, and the errors that its schemas do not show. The route itself has the
 * permission and the version.
 */
export function operationTexts(features: readonly { readonly operations?: URL }[]): URL[] {
  return [...OF_CORE, ...features.flatMap(({ operations = [] }) => operations)];
}

const OF_CORE: readonly URL[] = [
  'accounts',
  'attachments',
  'audit',
  'conversations',
  'inbox',
  'installation',
  'messages',
  'notifications',
  'registration',
].map((slice) => new URL(`../${slice}/operations.md`, import.meta.url));
