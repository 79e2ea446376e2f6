import { IconButton } from '@parley/ui/elements/button.tsx';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import type { IconNode } from 'lucide';
import { Bold, Code, Italic, Link, List, Quote, Type } from 'lucide';
import type { Format } from '../writing/formatting.ts';

const FORMATS: readonly { format: Format; icon: IconNode; label: string }[] = [
  { format: 'bold', icon: Bold, label: 'Bold (Ctrl+B)' },
  { format: 'italic', icon: Italic, label: 'Italic (Ctrl+I)' },
  { format: 'code', icon: Code, label: 'Code (Ctrl+E)' },
  { format: 'link', icon: Link, label: 'Link (Ctrl+Shift+U)' },
  { format: 'list', icon: List, label: 'List (Ctrl+Shift+8)' },
  { format: 'quote', icon: Quote, label: 'Quote (Ctrl+Shift+9)' },
];

/** The buttons that write Markdown, as a menu where the space is narrow. */
export function FormatBar({ onFormat }: { readonly onFormat: (format: Format) => void }) {
  return (
    <>
      <fieldset class="format-bar" aria-label="Formatting">
        {FORMATS.map(({ format, icon, label }) => (
          <IconButton key={format} icon={icon} label={label} onClick={() => onFormat(format)} />
        ))}
      </fieldset>
      <span class="format-menu">
        <MenuButton
          icon={Type}
          label="Formatting"
          items={FORMATS.map(({ format, icon, label }) => ({ icon, label, act: () => onFormat(format) }))}
        />
      </span>
    </>
  );
}
