/**
 * Returns the emoji in its stored form, or undefined if the text is not exactly one emoji that
 * Unicode recommends for interchange. Keyboards differ in the selector that asks for the colored
 * form (U+FE0F). It is added to characters that need it, so that one emoji is never counted as two.
 * Skin tones are emojis of their own.
 */
export function toEmoji(text: string): string | undefined {
  if (text.length > MAX_UNITS) return undefined;
  patterns ??= {
    emoji: /^\p{RGI_Emoji}$/v,
    needsSelector: /[\p{Emoji}--\p{Emoji_Presentation}](?!\p{Emoji_Modifier})/gv,
  };
  const emoji = text.replace(SELECTORS, '').replace(patterns.needsSelector, '$&\uFE0F');
  return patterns.emoji.test(emoji) ? emoji : undefined;
}

/** The longest emoji of Unicode, a family or a flag, has fewer than 30. */
const MAX_UNITS = 64;

const SELECTORS = /[\uFE0E\uFE0F]/g;

/** Made at first use. `needsSelector`: what is shown as text, unless a skin tone follows. */
let patterns: { readonly emoji: RegExp; readonly needsSelector: RegExp } | undefined;
