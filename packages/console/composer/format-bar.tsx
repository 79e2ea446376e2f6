import { IconButton } from '@parley/ui/elements/button.tsx';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import type { IconNode } from 'lucide';
import { Bold, Code, Italic, Link, List, Quote, Type } from 'lucide';
import { texts } from '../texts/texts.ts';
import type { Format } from '../writing/formatting.ts';

const FORMATS: readonly { format: Format; icon: IconNode; label: string }[] = [
  { format: 'bold', icon: Bold, label: texts.composer.formats.bold },
  { format: 'italic', icon: Italic, label: texts.composer.formats.italic },
  { format: 'code', icon: Code, label: texts.composer.formats.code },
  { format: 'link', icon: Link, label: texts.composer.formats.link },
  { format: 'list', icon: List, label: texts.composer.formats.list },
  { format: 'quote', icon: Quote, label: texts.composer.formats.quote },
];

/** The buttons that write Markdown, as a menu where the space is narrow. */
export function FormatBar({ onFormat }: { readonly onFormat: (format: Format) => void }) {
  return (
    <>
      <fieldset class="format-bar" aria-label={texts.composer.formatting}>
        {FORMATS.map(({ format, icon, label }) => (
          <IconButton key={format} icon={icon} label={label} onClick={() => onFormat(format)} />
        ))}
      </fieldset>
      <span class="format-menu">
        <MenuButton
          icon={Type}
          label={texts.composer.formatting}
          items={FORMATS.map(({ format, icon, label }) => ({ icon, label, act: () => onFormat(format) }))}
        />
      </span>
    </>
  );
}
