import { CopyLine } from '../administration/notice.tsx';
import type { MoreProps } from '../administration/section.ts';
import { useSignedIn } from '../session/session-context.tsx';

/** The HTML by which a page embeds a widget. */
export function WidgetSnippet({ item }: MoreProps) {
  const { me } = useSignedIn();
  const source = `${location.origin}/widget.js`;
  const { light } = (item.colors ?? {}) as { readonly light?: string | null };
  // The button is drawn before the frame is loaded, which has the colours of the widget.
  const color = light ? ` data-color="${light}"` : '';
  const snippet = `<script src="${source}" data-account="${me.account.id}" data-widget="${item.id}"${color} async></script>`;
  return (
    <section class="administration-part" aria-label="Snippet">
      <h2>Snippet</h2>
      <p>Put it before the end of the pages of the sites that are named above.</p>
      <CopyLine label="Snippet" text={snippet} />
    </section>
  );
}
