#ifndef PLUGINLIB_CLASS_LIST_MACROS_HPP
#define PLUGINLIB_CLASS_LIST_MACROS_HPP

#define PLUGINLIB_EXPORT_CLASS(class_type, base_class_type) \
    base_class_type* created_plugin();                      \
    base_class_type* created_plugin() { return new class_type; }

#endif
