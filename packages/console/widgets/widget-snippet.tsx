import { CopyLine } from '../administration/notice.tsx';
import type { MoreProps } from '../administration/section.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

/** The HTML by which a page embeds a widget. */
export function WidgetSnippet({ item }: MoreProps) {
  const { me } = useSignedIn();
  const source = `${location.origin}/widget.js`;
  const { light } = (item.colors ?? {}) as { readonly light?: string | null };
  // The button is drawn before the frame is loaded, which has the colours of the widget.
  const color = light ? ` data-color="${light}"` : '';
  const snippet = `<script src="${source}" data-account="${me.account.id}" data-widget="${item.id}"${color} async></script>`;
  return (
    <section class="administration-part" aria-label={texts.widgets.snippet}>
      <h2>{texts.widgets.snippet}</h2>
      <p>{texts.widgets.snippetPlace}</p>
      <CopyLine label={texts.widgets.snippet} text={snippet} />
    </section>
  );
}
