import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { texts } from '../texts/texts.ts';
import { SHORTCUTS } from './shortcuts.ts';

/** Lists the keys of the console. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  const names: Readonly<Record<string, string>> = {
    ...texts.shell.keyNames,
    Mod: /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : texts.shell.keyNames.Ctrl,
  };
  return (
    <Dialog title={texts.shell.keyboard} class="help-dialog" onClose={onClose}>
      {SHORTCUTS.map(({ title, shortcuts }) => (
        <section key={title} aria-label={title}>
          <h3 class="help-dialog-title">{title}</h3>
          <dl class="help-dialog-keys">
            {shortcuts.map(({ keys, does }) => (
              <div key={does} class="help-dialog-row">
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{names[key] ?? key}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
