import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import { Ellipsis } from 'lucide';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { type ActionButtonProps, ActionDialog } from './action-button.tsx';
import type { Action } from './section.ts';
import { useAdministration } from './use-administration.ts';

export interface ActionMenuProps extends Omit<ActionButtonProps, 'action'> {
  readonly actions: readonly Action[];
}

/** The actions that cannot be undone, in a menu: each asks in a dialog. */
export function ActionMenu({ actions, ...about }: ActionMenuProps) {
  const { offered } = useAdministration();
  const [chosen, setChosen] = useState<Action>();
  const here = actions.filter(({ operation }) => offered(operation) !== undefined);
  const operation = offered(chosen?.operation);
  if (here.length === 0) return null;
  return (
    <>
      <MenuButton
        icon={Ellipsis}
        label={texts.administration.moreActions}
        items={here.map((action) => ({
          label: action.label,
          isDanger: action.isDanger === true,
          act: () => setChosen(action),
        }))}
      />
      {chosen !== undefined && operation !== undefined && (
        <ActionDialog {...about} action={chosen} operation={operation} onClose={() => setChosen(undefined)} />
      )}
    </>
  );
}
