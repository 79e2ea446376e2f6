import type { IconNode } from 'lucide';
import type { ComponentProps } from 'preact';
import { Icon } from './icon.tsx';

export type ButtonProps = ComponentProps<'button'> & {
  /** `primary`: the purpose of a form. `danger`: no undo. `plain`: without a border. */
  readonly look?: 'primary' | 'danger' | 'plain';
  readonly icon?: IconNode;
};

/** A button with a text. */
export function Button({ look, icon, class: more, children, ...rest }: ButtonProps) {
  const names = ['button', look && `button-${look}`, more].filter(Boolean).join(' ');
  return (
    <button type="button" {...rest} class={names}>
      {icon && <Icon of={icon} size={16} />}
      {children}
    </button>
  );
}

export type IconButtonProps = ComponentProps<'button'> & {
  readonly icon: IconNode;
  /** Its name, which is shown as a hint. */
  readonly label: string;
};

/** A button with a drawing alone. */
export function IconButton({ icon, label, class: more, ...rest }: IconButtonProps) {
  const names = ['icon-button', more].filter(Boolean).join(' ');
  return (
    <button type="button" aria-label={label} title={label} {...rest} class={names}>
      <Icon of={icon} />
    </button>
  );
}
