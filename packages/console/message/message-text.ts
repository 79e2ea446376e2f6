import type { Actor } from '@parley/protocol/resources/actor.ts';

/** A piece of a text: words, or a person whom it mentions. */
export interface TextPiece {
  readonly text: string;
  /** The person that the piece mentions. */
  readonly mention?: Actor;
}

/**
 * Splits a plain text at the mentions of these actors: an `@` with the name, or with the part of
 * the address before its `@`.
 */
export function piecesOf(text: string, mentioned: readonly Actor[]): TextPiece[] {
  if (mentioned.length === 0 || !text.includes('@')) return [{ text }];
  const byName = new Map<string, Actor>();
  for (const actor of mentioned) for (const name of namesOf(actor)) byName.set(name.toLowerCase(), actor);
  const names = [...byName.keys()].sort((a, b) => b.length - a.length).map(escaped);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])@(${names.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
  const pieces: TextPiece[] = [];
  let from = 0;
  for (const { 0: found, 1: name = '', index } of text.matchAll(pattern)) {
    const mention = byName.get(name.toLowerCase());
    if (mention === undefined) continue;
    if (index > from) pieces.push({ text: text.slice(from, index) });
    pieces.push({ text: `@${mention.name ?? name}`, mention });
    from = index + found.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

function namesOf({ name, handle, username }: Actor): string[] {
  const local = handle?.split('@')[0];
  const slug = name?.trim().toLowerCase().replaceAll(/\s+/g, '-');
  return [name, slug, username, local].filter(
    (one): one is string => one !== undefined && one !== null && one !== '',
  );
}

function escaped(name: string): string {
  return name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
